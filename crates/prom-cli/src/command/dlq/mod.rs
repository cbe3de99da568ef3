//! `prom dlq`: dead letters: what went wrong, with which events, and handing them out again.

mod choice;
mod groups;
mod jobs;
mod list;
mod purge;
mod replay;
mod show;

use clap::{Args, Subcommand};
use prom_types::EpochMs;

use self::groups::LetterGroupsCommand;
use self::jobs::LetterJobsCommand;
use self::list::ListLetters;
use self::purge::PurgeCommand;
use self::replay::ReplayLettersCommand;
use self::show::ShowLetter;
use crate::cli::Context;
use crate::exit::CommandResult;
use crate::moment;
use crate::output::printable;
use crate::units::show_age;

/// Inspect dead letters, replay their events, and purge them
#[derive(Debug, Args)]
#[command(after_help = "\
An event that a group gave up on lies in dlq.TOPIC with the reason. `prom dlq groups` counts letters by error, `ls` \
and `show` print letters, `replay` publishes their events again, and `jobs` shows the outcome.

Examples:
  prom dlq groups
  prom dlq ls orders.placed --group billing
  prom dlq replay orders.placed --fingerprint 5d41402abc4b2a76 --dry-run
  prom dlq replay orders.placed --canary 10 --limit 100000
  prom dlq jobs")]
pub struct DeadLetters {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Ls(ListLetters),
    Show(ShowLetter),
    Groups(LetterGroupsCommand),
    Replay(ReplayLettersCommand),
    Purge(PurgeCommand),
    Jobs(LetterJobsCommand),
}

impl DeadLetters {
    pub async fn run(self, context: &Context) -> CommandResult {
        match self.what {
            What::Ls(list) => list.run(context).await,
            What::Show(show) => show.run(context).await,
            What::Groups(groups) => groups.run(context).await,
            What::Replay(replay) => replay.run(context).await,
            What::Purge(purge) => purge.run(context).await,
            What::Jobs(jobs) => jobs.run(context).await,
        }
    }
}

fn age(ts: EpochMs) -> String {
    format!("{} ago", show_age(moment::now_ms().saturating_sub(ts).max(0).unsigned_abs()))
}

/// What comes from handlers, as it fits into a table.
fn short(text: &str, most: usize) -> String {
    let text = printable(text);
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
