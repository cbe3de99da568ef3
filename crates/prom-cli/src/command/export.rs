//! `prom export`: the events of a topic, as the hub streams them.
//!
//! Promise: an export that did not come to its end is an error, and leaves no file under the name that was asked for.
//! It cannot be resumed: begin again, or ask for less with --from-ts and --to-ts.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use prom_protocol::http::export::ExportQuery;
use prom_types::{EpochMs, TopicName};
use reqwest::Response;
use tokio::time::timeout;

use super::names;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::hub::HubClient;
use crate::moment;
use crate::output::{Progress, note};
use crate::units::show_size;

/// An export sends something all the time.
const SILENCE: Duration = Duration::from_secs(60);

/// Write the events of a topic, one per line
#[derive(Debug, Args)]
#[command(after_help = "\
Events come partition by partition in offset order, up to the end of the topic when the export began. An interrupted \
export cannot be resumed; use --from-ts and --to-ts to export less at a time.

Examples:
  prom export orders.placed --out orders.ndjson
  prom export orders.placed --from-ts 2030-01-01T00:00:00Z | gzip > orders.gz
  prom export orders.placed --jq '.payload.customer == 4711'
  prom export orders.placed | jq .payload.total")]
pub struct Export {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// Only events stored at or after this time
    #[arg(long, value_name = "TIME", value_parser = moment::parse, allow_hyphen_values = true)]
    from_ts: Option<EpochMs>,
    /// Only events stored at or before this time
    #[arg(long, value_name = "TIME", value_parser = moment::parse, allow_hyphen_values = true)]
    to_ts: Option<EpochMs>,
    /// Only events that this jq program takes; where the topic declares an index that answers it, nothing else is read
    #[arg(long, value_name = "PROGRAM")]
    jq: Option<String>,
    /// Write to a file, which appears only when the export is complete
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// One JSON array instead of one event per line
    #[arg(long)]
    array: bool,
    /// CloudEvents instead of events
    #[arg(long)]
    cloudevents: bool,
    /// Skip events that can no longer be read
    #[arg(long)]
    skip_damaged: bool,
}

impl Export {
    pub async fn run(self, context: &Context) -> CommandResult {
        let hub = context.hub()?;
        let query = ExportQuery {
            topic: self.topic,
            from_ts: self.from_ts,
            to_ts: self.to_ts,
            jq: self.jq,
            ndjson: !self.array,
            format: self.cloudevents.then(|| "cloudevents".to_owned()),
            skip_damaged: self.skip_damaged,
        };
        let response = hub.get_stream(&["export"], &query).await?;
        match &self.out {
            None => copy(&hub, response, &mut io::stdout().lock()).await.map(drop),
            Some(path) => {
                let bytes = to_file(&hub, response, path).await?;
                note(format!("{}: {}", path.display(), show_size(bytes)));
                Ok(())
            }
        }
    }
}

/// Under another name first: a part must not be taken for the whole.
async fn to_file(hub: &HubClient, response: Response, path: &Path) -> Result<u64, Failure> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let failed = |error: io::Error| {
        Failure::no(format!("{} cannot be written: {error}", path.display())).fix("choose another place with --out")
    };
    let mut file = BufWriter::new(File::create(&part).map_err(failed)?);
    let copied = copy(hub, response, &mut file).await;
    let finished = match copied {
        Ok(bytes) => file.flush().and_then(|()| std::fs::rename(&part, path)).map(|()| bytes).map_err(failed),
        Err(failure) => Err(failure),
    };
    if finished.is_err() {
        // The part is useless. Failing to remove it does not change the outcome.
        drop(std::fs::remove_file(&part));
    }
    finished
}

async fn copy(hub: &HubClient, mut response: Response, out: &mut impl Write) -> Result<u64, Failure> {
    let progress = Progress::bytes("exporting", response.content_length());
    let mut bytes = 0;
    loop {
        let silent = || Failure::unreachable(format!("the hub said nothing for {} s", SILENCE.as_secs()));
        let chunk = timeout(SILENCE, response.chunk()).await.map_err(|_| silent())?;
        let Some(chunk) = chunk.map_err(|error| hub.broken(&error))? else {
            break;
        };
        out.write_all(&chunk)?;
        bytes += chunk.len() as u64;
        progress.advance(chunk.len() as u64);
    }
    out.flush()?;
    Ok(bytes)
}
