//! What every change of a flow has in common: it is asked for, and told in the hub's words.

use prom_protocol::http::flows::{ActedFlow, FlowKindView};
use serde::Serialize;

use super::words;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::output::printable;

/// Asks for it, and gives the answer after it was shown.
pub async fn change(
    context: &Context,
    kind: FlowKindView,
    name: &str,
    verb: &str,
    body: &impl Serialize,
) -> Result<ActedFlow, Failure> {
    let answer = context.hub()?.post(&["flows", words::path(kind), name, verb], body).await?;
    context.show(&answer, |acted: ActedFlow| context.output.line(told(&acted)))?;
    answer.parse()
}

/// As [`change`], where nothing is left to judge.
pub async fn change_only(context: &Context, kind: FlowKindView, name: &str, verb: &str) -> CommandResult {
    change(context, kind, name, verb, &()).await.map(drop)
}

/// Some flows name themselves in what they say.
fn told(acted: &ActedFlow) -> String {
    let done = printable(&acted.done);
    if acted.done.contains(&acted.name) { done } else { format!("{}: {done}", printable(&acted.name)) }
}
