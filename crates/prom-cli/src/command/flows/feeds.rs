//! `prom feeds`: changes of MongoDB collections on their way to topics.

use clap::{Args, Subcommand};
use prom_protocol::http::flows::FlowKindView;

use super::list::ListFlows;
use super::seek::SeekCommand;
use super::{FlowName, restart, show};
use crate::cli::Context;
use crate::exit::CommandResult;

/// Show and control change feeds, which publish changes of MongoDB collections
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  prom feeds
  prom feeds --watch
  prom feeds show orders
  prom feeds seek orders --at -15m"
)]
pub struct FeedsCommand {
    #[command(flatten)]
    list: ListFlows,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List all feeds with their state and lag
    #[command(after_help = "\
Examples:
  prom feeds ls
  prom feeds ls --watch --every 5s
  prom feeds ls --check                   exit 1 if one is retrying or stopped")]
    Ls(ListFlows),
    /// Show one feed in detail
    #[command(after_help = "\
Examples:
  prom feeds show orders
  prom feeds show orders --json")]
    Show(FlowName),
    /// Move a feed to a time, or behind a resume token
    #[command(after_help = "\
A seek forward skips the changes in between. A seek back reads changes again; a change whose event is still retained \
is not published twice. A time must be within the oplog. system.audit records the caller.

Examples:
  prom feeds seek orders --at -15m
  prom feeds seek orders --at 2030-01-31T12:00:00Z
  prom feeds seek orders --at 8265E6F2A1000000012B022C0100296E5A10046C1B")]
    Seek(SeekCommand),
    /// Retry now; also starts a stopped flow
    #[command(after_help = "\
Examples:
  prom feeds restart orders
  prom feeds restart orders --json")]
    Restart(FlowName),
}

impl FeedsCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let kind = FlowKindView::Feed;
        match self.what {
            None => self.list.run(kind, context).await,
            Some(What::Ls(list)) => list.run(kind, context).await,
            Some(What::Show(name)) => show::run(name, kind, context).await,
            Some(What::Seek(seek)) => seek.run(context).await,
            Some(What::Restart(name)) => restart::run(name, kind, context).await,
        }
    }
}
