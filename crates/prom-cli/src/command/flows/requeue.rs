//! `prom outbox requeue`: tries rows in error again.

use prom_protocol::http::flows::FlowKindView;

use super::change::change;
use super::choice::RowChoice;
use crate::cli::Context;
use crate::exit::CommandResult;

pub async fn run(choice: RowChoice, context: &Context) -> CommandResult {
    let rows = choice.read()?;
    let acted = change(context, FlowKindView::Outbox, &choice.name, "requeue", &rows).await?;
    choice.judge(&acted)
}
