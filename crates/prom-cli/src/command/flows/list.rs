//! `ls` of `prom outbox`, `prom feeds` and `prom projections`: all of a kind, once or continuously.

use std::time::Duration;

use clap::Args;
use prom_protocol::http::flows::{FlowKindView, FlowList, FlowView, FlowsQuery};
use prom_types::EpochMs;

use super::words;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::hub::{Answer, HubClient};
use crate::moment;
use crate::output::{Align, Output, Style, Table};
use crate::units::parse_duration;

#[derive(Debug, Args)]
pub struct ListFlows {
    /// Refresh until interrupted; with --json one line each time
    #[arg(long)]
    watch: bool,
    /// Time between two refreshes
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_duration, requires = "watch")]
    every: Duration,
    /// Exit 1 when one of them is retrying or stopped
    #[arg(long)]
    check: bool,
}

impl ListFlows {
    pub async fn run(self, kind: FlowKindView, context: &Context) -> CommandResult {
        let hub = context.hub()?;
        if !self.watch {
            let (flows, answer) = ask(&hub, kind).await?;
            show(&context.output, kind, &flows, &answer)?;
            return self.judge(kind, &flows);
        }
        tokio::select! {
            outcome = self.watch(&hub, kind, &context.output) => outcome,
            // An interrupt is the way to end it.
            _ = tokio::signal::ctrl_c() => Ok(()),
        }
    }

    async fn watch(&self, hub: &HubClient, kind: FlowKindView, output: &Output) -> CommandResult {
        loop {
            let (flows, answer) = ask(hub, kind).await?;
            if output.style == Style::Coloured && !output.is_for_machines() {
                // Lines that the terminal folds make the height unknown, so it begins at the top.
                output.text("\u{1b}[H\u{1b}[J")?;
            }
            show(output, kind, &flows, &answer)?;
            self.judge(kind, &flows)?;
            tokio::time::sleep(self.every).await;
        }
    }

    fn judge(&self, kind: FlowKindView, flows: &[FlowView]) -> CommandResult {
        let unwell: Vec<&FlowView> = flows.iter().filter(|flow| self.check && flow.state.is_unwell()).collect();
        let Some(first) = unwell.first() else {
            return Ok(());
        };
        let what = match unwell.len() {
            1 => format!("{} {} is {}", words::path(kind), first.name, first.state.as_str()),
            many => format!("{many} {} do not move, {} among them", words::many(kind), first.name),
        };
        Err(Failure::no(what).fix(format!("`prom {} show {}` explains why", words::command(kind), first.name)))
    }
}

async fn ask(hub: &HubClient, kind: FlowKindView) -> Result<(Vec<FlowView>, Answer), Failure> {
    let answer = hub.get(&["flows"], &FlowsQuery { kind: Some(kind) }).await?;
    let FlowList { flows } = answer.parse()?;
    Ok((flows, answer))
}

fn show(output: &Output, kind: FlowKindView, flows: &[FlowView], answer: &Answer) -> CommandResult {
    if output.is_for_machines() {
        return output.line(answer.text.trim_end());
    }
    if flows.is_empty() {
        let (many, section) = (words::many(kind), words::section(kind));
        return output.line(format!("no {many} at this hub; {section} in its prom.toml declares one"));
    }
    let now = moment::now_ms();
    output.table(&table(flows, now))?;
    flows.iter().filter_map(|flow| words::trouble(flow, now)).try_for_each(|trouble| output.line(trouble))
}

fn table(flows: &[FlowView], now: EpochMs) -> Table {
    let mut table = Table::new([
        ("NAME", Align::Left),
        ("STATE", Align::Left),
        ("FROM", Align::Left),
        ("TO", Align::Left),
        ("PENDING", Align::Right),
        ("OLDEST", Align::Right),
        ("READ", Align::Right),
        ("WRITTEN", Align::Right),
        ("SKIPPED", Align::Right),
        ("FAILED", Align::Right),
        ("P50 / P99", Align::Left),
    ]);
    for flow in flows {
        let stages =
            flow.stages.iter().map(|stage| format!("{} {} / {} ms", words::stage(stage), stage.p50_ms, stage.p99_ms));
        table.row([
            flow.name.clone(),
            flow.state.as_str().to_owned(),
            flow.from.clone(),
            flow.to.clone(),
            flow.pending.map_or_else(|| "-".to_owned(), |pending| pending.to_string()),
            flow.oldest_ts.map_or_else(|| "-".to_owned(), |oldest| words::age(oldest, now)),
            flow.counts.read.to_string(),
            flow.counts.written.to_string(),
            flow.counts.skipped.to_string(),
            flow.counts.failed.to_string(),
            stages.collect::<Vec<_>>().join(", "),
        ]);
    }
    table.without_if_empty("P50 / P99")
}
