//! `prom projections rebuild`: builds a collection anew beside the old one.

use prom_protocol::http::flows::FlowKindView;

use super::FlowName;
use super::change::change_only;
use crate::cli::Context;
use crate::exit::CommandResult;

pub async fn run(FlowName { name }: FlowName, context: &Context) -> CommandResult {
    change_only(context, FlowKindView::Projection, &name, "rebuild").await
}
