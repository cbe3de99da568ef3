//! `prom import`: whole events back into a hub, as an export wrote them.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use prom_protocol::http::import::{ImportQuery, ImportReport};
use prom_types::TopicName;
use reqwest::{Body, Response};

use super::input::LineInput;
use super::names;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::hub::HubClient;
use crate::output::{Progress, counted, note};

/// Store whole events that `prom export` wrote
#[derive(Debug, Args)]
#[command(after_help = "\
Ids are kept and stored once, so an interrupted import can be run again. With the right `admin` on the topic every \
event also keeps its partition, offset and stored_ts, as long as its offset is free: import into an empty topic with \
the same number of partitions to get an identical topic. If the offset is taken, the event is appended. A bad line \
is reported and skipped, and the exit code is then 1.

Examples:
  prom import orders.ndjson
  zcat orders.gz | prom import - --topic orders.restored")]
pub struct Import {
    /// A file with one event per line; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Store all events in this topic, whatever topic they name
    #[arg(long, value_name = "TOPIC", value_parser = names::topic)]
    topic: Option<TopicName>,
}

impl Import {
    pub async fn run(self, context: &Context) -> CommandResult {
        let hub = context.hub()?;
        let input = LineInput::open(&self.file)?;
        let progress = Arc::new(Progress::bytes("importing", input.bytes));
        let query = ImportQuery { topic: self.topic.clone() };
        let response = hub.post_lines(&["import"], &query, body(input, progress.clone())).await?;
        let end = self.listen(&hub, response, context).await?;
        drop(progress);
        let ImportTally { imported, duplicates, failed, moved } = end.ok_or_else(|| {
            Failure::unreachable("the hub fell silent before the end of the import")
                .fix("check that it is still running, then import again: nothing is stored twice")
        })?;
        if !context.output.is_for_machines() {
            let place = match moved {
                0 => String::new(),
                moved => format!(" ({moved} of them not at the offset they had)"),
            };
            let events = counted(imported, "event");
            let all = format!("imported {events}{place}, {duplicates} already there, {failed} failed");
            context.output.line(all)?;
        }
        match failed {
            0 => Ok(()),
            failed => Err(Failure::no(format!("{} could not be imported", counted(failed, "line")))
                .fix("correct the lines named above and import the file again: nothing is stored twice")),
        }
    }

    /// The counts of the last line, if it came.
    async fn listen(
        &self,
        hub: &HubClient,
        mut response: Response,
        context: &Context,
    ) -> Result<Option<ImportTally>, Failure> {
        let (mut waiting, mut end) = (Vec::new(), None);
        while let Some(chunk) = response.chunk().await.map_err(|error| hub.broken(&error))? {
            waiting.extend_from_slice(&chunk);
            while let Some(length) = waiting.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = waiting.drain(..=length).collect();
                let line = String::from_utf8_lossy(&line);
                if context.output.is_for_machines() {
                    context.output.text(&line)?;
                }
                match serde_json::from_str(&line) {
                    Ok(ImportReport::Done { imported, duplicates, failed, moved }) => {
                        end = Some(ImportTally { imported, duplicates, failed, moved });
                    }
                    Ok(ImportReport::Failed { line, error }) => {
                        note(format!("{}:{line}: {} ({})", self.file.display(), error.detail, error.code));
                    }
                    // Newer hubs may say more.
                    Ok(ImportReport::Progress { .. }) | Err(_) => {}
                }
            }
        }
        Ok(end)
    }
}

/// The counts of the last line.
struct ImportTally {
    imported: u64,
    duplicates: u64,
    failed: u64,
    moved: u64,
}

fn body(input: LineInput, progress: Arc<Progress>) -> Body {
    let pieces = input.pieces();
    Body::wrap_stream(futures::stream::unfold((pieces, progress), |(mut pieces, progress)| async move {
        let piece = pieces.recv().await?;
        progress.advance(piece.as_ref().map_or(0, |piece| piece.len() as u64));
        Some((piece, (pieces, progress)))
    }))
}
