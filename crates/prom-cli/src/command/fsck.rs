//! `prom fsck`: reads a whole data directory and says what is damaged.

use std::path::PathBuf;

use clap::Args;
use prom_store::StoreError;
use prom_store_embedded::{EmbeddedOptions, fsck};
use serde_json::json;

use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::output::Progress;

/// Check a data directory that no hub has open
#[derive(Debug, Args)]
#[command(after_help = "\
Reads every frame, record and index. Indexes that are missing or bad are made again; nothing else is changed.
Exit 1 if anything is damaged.

Examples:
  prom fsck --data ./prom-data
  prom fsck --data /var/lib/prom --json")]
pub struct Fsck {
    /// The directory of the embedded store
    #[arg(long, value_name = "DIR", default_value = "./prom-data")]
    data: PathBuf,
}

impl Fsck {
    pub fn run(self, context: &Context) -> CommandResult {
        // Checking anything else would make a data directory of it.
        if !self.data.join("FORMAT").is_file() {
            return Err(Failure::usage(format!("{} is not a data directory", self.data.display()))
                .fix("name the directory that `prom serve` uses with --data"));
        }
        let progress = Progress::count("checking");
        let report = fsck::fsck(&self.data, &EmbeddedOptions::default(), |log| {
            progress.now_at(&format!("checking {log}, log"));
            progress.advance(1);
        });
        drop(progress);
        let report = report.map_err(explain)?;
        if context.output.is_for_machines() {
            context.output.json(&json!({
                "sound": report.is_sound(),
                "logs": report.logs,
                "segments": report.segments,
                "events": report.events,
                "bytes": report.bytes,
                "frames": report.frames,
                "rebuilt": report.rebuilt,
                "damage": report.damage.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }))?
        } else {
            context.output.line(report.to_string())?
        }
        if report.is_sound() {
            Ok(())
        } else {
            Err(Failure::no(format!("{} is damaged", self.data.display()))
                .fix("what is not listed above stays readable; restore the listed files from a copy if you have one"))
        }
    }
}

fn explain(error: StoreError) -> Failure {
    match error {
        StoreError::InUse { .. } => Failure::no(error.to_string()).fix("stop the hub, then check again"),
        _ => Failure::no(error.to_string()),
    }
}
