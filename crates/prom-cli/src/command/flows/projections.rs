//! `prom projections`: topics on their way into collections.

use clap::{Args, Subcommand};
use prom_protocol::http::flows::FlowKindView;

use super::list::ListFlows;
use super::{FlowName, rebuild, restart, show};
use crate::cli::Context;
use crate::exit::CommandResult;

/// Show and control projections, which turn topics into collections
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  prom projections
  prom projections --watch
  prom projections show processes
  prom projections rebuild processes"
)]
pub struct ProjectionsCommand {
    #[command(flatten)]
    list: ListFlows,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List all projections with their state and lag
    #[command(after_help = "\
Examples:
  prom projections ls
  prom projections ls --watch
  prom projections ls --check             exit 1 if one is retrying or stopped")]
    Ls(ListFlows),
    /// Show one projection in detail
    #[command(after_help = "\
Examples:
  prom projections show processes
  prom projections show processes --json")]
    Show(FlowName),
    /// Rebuild the collection beside the old one, then swap them
    #[command(after_help = "\
It starts from the first retained event. Callers read the old collection until the new one has caught up. \
system.audit records the caller.

Examples:
  prom projections rebuild processes
  prom projections rebuild processes --json")]
    Rebuild(FlowName),
    /// Retry now; also starts a stopped flow
    #[command(after_help = "\
Examples:
  prom projections restart processes
  prom projections restart processes --json")]
    Restart(FlowName),
}

impl ProjectionsCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let kind = FlowKindView::Projection;
        match self.what {
            None => self.list.run(kind, context).await,
            Some(What::Ls(list)) => list.run(kind, context).await,
            Some(What::Show(name)) => show::run(name, kind, context).await,
            Some(What::Rebuild(name)) => rebuild::run(name, context).await,
            Some(What::Restart(name)) => restart::run(name, kind, context).await,
        }
    }
}
