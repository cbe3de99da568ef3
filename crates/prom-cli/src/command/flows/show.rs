//! `show` of `prom outbox`, `prom feeds` and `prom projections`: all about one, and what helps it.

use prom_protocol::http::flows::{FlowKindView, FlowStateView, FlowView};
use prom_types::EpochMs;

use super::{FlowName, words};
use crate::cli::Context;
use crate::exit::CommandResult;
use crate::moment;
use crate::output::{Align, Table, printable};

pub async fn run(FlowName { name }: FlowName, kind: FlowKindView, context: &Context) -> CommandResult {
    let answer = context.hub()?.get(&["flows", words::path(kind), &name], &()).await?;
    context.show(&answer, |flow| show(context, &flow, moment::now_ms()))
}

fn show(context: &Context, flow: &FlowView, now: EpochMs) -> CommandResult {
    let output = &context.output;
    let name = output.style.bold(&printable(&flow.name));
    output.line(format!("{name}: {}, {}", words::path(flow.kind), flow.state.as_str()))?;
    for (label, fact) in facts(flow, now) {
        output.line(format!("  {}: {}", printable(&label), printable(&fact)))?;
    }
    if let Some(trouble) = words::trouble(flow, now) {
        output.line(format!("  {}", output.style.red(&trouble)))?;
    }
    for (command, what) in helps(flow) {
        output.line(format!("  {}   # {what}", printable(&command)))?;
    }
    if flow.stages.is_empty() {
        return Ok(());
    }
    output.line("")?;
    output.table(&stages(flow))
}

fn facts(flow: &FlowView, now: EpochMs) -> Vec<(String, String)> {
    let counts = &flow.counts;
    let mut facts = vec![("from".to_owned(), flow.from.clone()), ("to".to_owned(), flow.to.clone())];
    let oldest = flow.oldest_ts.map(|oldest| format!(", the oldest for {}", words::age(oldest, now)));
    facts
        .extend(flow.pending.map(|pending| ("waiting".to_owned(), format!("{pending}{}", oldest.unwrap_or_default()))));
    let done = format!(
        "{} read, {} written, {} skipped, {} failed",
        counts.read, counts.written, counts.skipped, counts.failed
    );
    facts.push(("since the hub started".to_owned(), done));
    facts.extend(flow.position.clone().map(|position| ("stands at".to_owned(), position)));
    facts.extend(flow.details.iter().map(|(name, detail)| (name.replace('_', " "), detail.clone())));
    facts
}

/// What an operator can type, if there is something to mend.
fn helps(flow: &FlowView) -> Vec<(String, &'static str)> {
    let name = &flow.name;
    let mut helps = Vec::new();
    if flow.state.is_unwell() {
        helps.push((format!("prom {} restart {name}", words::command(flow.kind)), "try again now"));
    }
    match flow.kind {
        FlowKindView::Outbox if flow.counts.failed > 0 => {
            helps.push((format!("prom outbox rows {name} --status error"), "rows that failed, and with what"));
            helps.push((format!("prom outbox requeue {name} --all"), "try them again"));
        }
        FlowKindView::Feed if flow.state == FlowStateView::Stopped => {
            helps.push((format!("prom feeds seek {name} --at TIME"), "go on at a time, and leave out what is before"));
        }
        _ => {}
    }
    helps
}

fn stages(flow: &FlowView) -> Table {
    let mut table =
        Table::new([("STAGE", Align::Left), ("LAST", Align::Right), ("P50", Align::Right), ("P99", Align::Right)]);
    for stage in &flow.stages {
        let ms = |ms: u64| format!("{ms} ms");
        table.row([words::stage(stage), ms(stage.last_ms), ms(stage.p50_ms), ms(stage.p99_ms)]);
    }
    table
}
