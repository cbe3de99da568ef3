//! `prom fsck`: reads a whole data directory and says what is damaged.

use std::path::PathBuf;

use clap::Args;
use prom_store::{LogName, StoreError};
use prom_store_embedded::{EmbeddedOptions, fsck};
use serde_json::json;

use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::output::Progress;

/// Check a data directory that no hub has open
#[derive(Debug, Args)]
#[command(after_help = "\
Reads every frame, record and index. Missing or damaged indexes are rebuilt; nothing else is changed. Exit 1 if \
anything is damaged or missing.

--rebuild makes a directory usable again that a hub refuses to open: it recreates the log descriptions in documents/ \
from the segments and the journal. Events, offsets and exact ids are restored. Topics, groups and cursors are \
restored only as far as the journal still has them. Work on a copy if you can, and declare the topics again.

Examples:
  prom fsck --data ./prom-data
  prom fsck --data /var/lib/prom --json
  prom fsck --data /var/lib/prom --rebuild")]
pub struct Fsck {
    /// Directory of the embedded store
    #[arg(long, value_name = "DIR", default_value = "./prom-data")]
    data: PathBuf,
    /// Recreate missing parts, then check
    #[arg(long)]
    rebuild: bool,
}

impl Fsck {
    pub fn run(self, context: &Context) -> CommandResult {
        // Checking anything else would make a data directory of it.
        let is_ours = ["FORMAT", "journal", "segments"].iter().any(|part| self.data.join(part).exists());
        if !is_ours {
            return Err(Failure::usage(format!("{} is not a data directory", self.data.display()))
                .fix("name the directory that `prom serve` uses with --data"));
        }
        let options = EmbeddedOptions::default();
        let made = if self.rebuild {
            let progress = Progress::count("rebuilding");
            fsck::rebuild(&self.data, &options, told(&progress, "rebuilding")).map_err(explain)?
        } else {
            Vec::new()
        };
        let progress = Progress::count("checking");
        let report = fsck::fsck(&self.data, &options, told(&progress, "checking"));
        drop(progress);
        let report = report.map_err(explain)?;
        if context.output.is_for_machines() {
            context.output.json(&json!({
                "made": made,
                "sound": report.is_sound(),
                "logs": report.logs,
                "segments": report.segments,
                "events": report.events,
                "bytes": report.bytes,
                "frames": report.frames,
                "rebuilt": report.rebuilt,
                "cut": report.cut.as_ref().map(|cut| json!({
                    "file": cut.file, "position": cut.position, "reason": cut.reason,
                })),
                "damage": report.damage.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }))?
        } else {
            for made in made {
                context.output.line(format!("made again: {made}"))?;
            }
            context.output.line(report.to_string())?
        }
        if report.is_sound() {
            Ok(())
        } else {
            Err(Failure::no(format!("{} is damaged", self.data.display())).fix(
                "what is not listed above stays readable; restore the listed files from a copy if you have one. If a \
                      hub refuses to open the directory, `prom fsck --rebuild` makes it usable again",
            ))
        }
    }
}

/// Shows the log at work.
fn told<'a>(progress: &'a Progress, doing: &'a str) -> impl FnMut(&LogName) + 'a {
    move |log| {
        progress.now_at(&format!("{doing} {log}, log"));
        progress.advance(1);
    }
}

fn explain(error: StoreError) -> Failure {
    match error {
        StoreError::InUse { .. } => Failure::no(error.to_string()).fix("stop the hub, then check again"),
        _ => Failure::no(error.to_string()),
    }
}
