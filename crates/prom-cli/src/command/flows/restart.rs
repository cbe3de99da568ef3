//! `restart` of `prom outbox`, `prom feeds` and `prom projections`: tries one again now.

use prom_protocol::http::flows::FlowKindView;

use super::FlowName;
use super::change::change_only;
use crate::cli::Context;
use crate::exit::CommandResult;

pub async fn run(FlowName { name }: FlowName, kind: FlowKindView, context: &Context) -> CommandResult {
    change_only(context, kind, &name, "restart").await
}
