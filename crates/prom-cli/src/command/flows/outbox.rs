//! `prom outbox`: rows of services' own databases on their way to topics.

use clap::{Args, Subcommand};
use prom_protocol::http::flows::FlowKindView;

use super::choice::RowChoice;
use super::drop::DropRows;
use super::list::ListFlows;
use super::rows::ListRows;
use super::{FlowName, requeue, restart, show};
use crate::cli::Context;
use crate::exit::CommandResult;

/// Show and control outboxes, which publish rows of services' databases
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
A row that fails too often is in error, and blocks its key until you retry it (requeue) or give it up (drop).

Examples:
  prom outbox
  prom outbox --watch
  prom outbox rows orders --status error
  prom outbox requeue orders --all"
)]
pub struct OutboxCommand {
    #[command(flatten)]
    list: ListFlows,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List all outboxes with their state and backlog
    #[command(after_help = "\
Examples:
  prom outbox ls
  prom outbox ls --watch
  prom outbox ls --check                  exit 1 if one is retrying or stopped")]
    Ls(ListFlows),
    /// Show one outbox in detail
    #[command(after_help = "\
Examples:
  prom outbox show orders
  prom outbox show orders --json")]
    Show(FlowName),
    /// List rows, the oldest first
    #[command(after_help = "\
Payloads are not shown; they stay in the database.

Examples:
  prom outbox rows orders --status error
  prom outbox rows orders --key 'customer 3'
  prom outbox rows orders --limit 1000 --json")]
    Rows(ListRows),
    /// Try rows in error again
    #[command(after_help = "\
The rows are pending again, with no failed tries, and are published in the order of their key. system.audit records \
the caller.

Examples:
  prom outbox requeue orders --id 0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f
  prom outbox requeue orders --topic orders.placed
  prom outbox requeue orders --all --limit 10000")]
    Requeue(RowChoice),
    /// Give up rows in error: they are never published, and their keys continue
    #[command(after_help = "\
On a terminal it asks for the name of the outbox; elsewhere it needs --yes. system.audit records the caller.

Examples:
  prom outbox drop orders --id 0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f
  prom outbox drop orders --key 'customer 3' --yes")]
    Drop(DropRows),
    /// Retry now; also starts a stopped flow
    #[command(after_help = "\
Examples:
  prom outbox restart orders
  prom outbox restart orders --json")]
    Restart(FlowName),
}

impl OutboxCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let kind = FlowKindView::Outbox;
        match self.what {
            None => self.list.run(kind, context).await,
            Some(What::Ls(list)) => list.run(kind, context).await,
            Some(What::Show(name)) => show::run(name, kind, context).await,
            Some(What::Rows(rows)) => rows.run(context).await,
            Some(What::Requeue(choice)) => requeue::run(choice, context).await,
            Some(What::Drop(rows)) => rows.run(context).await,
            Some(What::Restart(name)) => restart::run(name, kind, context).await,
        }
    }
}
