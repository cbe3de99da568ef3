//! `prom import`: whole events back into a hub, as an export wrote them.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use prom_types::TopicName;
use reqwest::{Body, Response};
use serde::Deserialize;

use super::input::Input;
use super::names;
use crate::cli::Context;
use crate::exit::{Failure, Outcome};
use crate::hub::Hub;
use crate::output::{Progress, note};

/// Store whole events that `prom export` wrote
#[derive(Debug, Args)]
#[command(after_help = "\
Ids are kept and stored once, so an import that was interrupted is simply run again. A bad line is told and skipped; \
then the exit code is 1.

Examples:
  prom import orders.ndjson
  zcat january.gz | prom import - --topic orders.restored")]
pub struct Import {
    /// A file with one event per line; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where all events go, whatever topic they name
    #[arg(long, value_name = "TOPIC", value_parser = names::topic)]
    topic: Option<TopicName>,
}

/// What the hub says about it, line by line.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Said {
    Bad {
        line: u64,
        error: Reason,
    },
    End {
        imported: u64,
        duplicates: u64,
        failed: u64,
    },
    Progress {
        #[serde(rename = "progress")]
        _events: u64,
    },
}

#[derive(Debug, Deserialize)]
struct Reason {
    detail: String,
    code: String,
}

impl Import {
    pub async fn run(self, context: &Context) -> Outcome {
        let hub = context.hub()?;
        let input = Input::open(&self.file)?;
        let progress = Arc::new(Progress::bytes("importing", input.bytes));
        let query = [("topic", self.topic.as_ref().map(ToString::to_string))];
        let response = hub.post_lines(&["import"], &query, body(input, progress.clone())).await?;
        let end = self.listen(&hub, response, context).await?;
        drop(progress);
        let (imported, duplicates, failed) = end.ok_or_else(|| {
            Failure::unreachable("the hub fell silent before the end of the import")
                .fix("look whether it is still running, then import again: nothing is stored twice")
        })?;
        if !context.output.is_for_machines() {
            context
                .output
                .line(format!("imported {imported} events, {duplicates} were there already, {failed} failed"))?;
        }
        match failed {
            0 => Ok(()),
            failed => Err(Failure::no(format!("{failed} lines were not imported"))
                .fix("mend the lines named above and import the file again: nothing is stored twice")),
        }
    }

    /// What became of it, if the hub came to the end.
    async fn listen(
        &self,
        hub: &Hub,
        mut response: Response,
        context: &Context,
    ) -> Result<Option<(u64, u64, u64)>, Failure> {
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
                    Ok(Said::End { imported, duplicates, failed }) => end = Some((imported, duplicates, failed)),
                    Ok(Said::Bad { line, error }) => {
                        note(format!("{}:{line}: {} ({})", self.file.display(), error.detail, error.code));
                    }
                    // Newer hubs may say more.
                    Ok(Said::Progress { .. }) | Err(_) => {}
                }
            }
        }
        Ok(end)
    }
}

fn body(input: Input, progress: Arc<Progress>) -> Body {
    let pieces = input.pieces();
    Body::wrap_stream(futures::stream::unfold((pieces, progress), |(mut pieces, progress)| async move {
        let piece = pieces.recv().await?;
        progress.advance(piece.as_ref().map_or(0, |piece| piece.len() as u64));
        Some((piece, (pieces, progress)))
    }))
}
