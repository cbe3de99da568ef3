//! `prom lag`: how far groups are behind, once or continuously.

use std::time::Duration;

use clap::Args;
use prom_protocol::http::lag::{LagAnswer, LagQuery, LagView};
use prom_types::{GroupName, TopicName};

use super::{names, partly};
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::hub::{Answer, HubClient};
use crate::output::{Align, Output, Style, Table, note};
use crate::units::{parse_duration, show_age};

/// Show how far groups are behind
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom lag
  prom lag orders.placed billing
  prom lag --watch
  prom lag orders.placed --max 1000       exit 1 if a group is more than 1000 events behind")]
pub struct Lag {
    /// Only this topic
    #[arg(value_parser = names::topic)]
    topic: Option<TopicName>,
    /// Only this group
    #[arg(value_parser = names::group)]
    group: Option<GroupName>,
    /// Refresh until interrupted; with --json one line each time
    #[arg(long)]
    watch: bool,
    /// Time between two refreshes
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_duration, requires = "watch")]
    every: Duration,
    /// Exit 1 when a group is more than N events behind
    #[arg(long, value_name = "N")]
    max: Option<u64>,
}

impl Lag {
    pub async fn run(self, context: &Context) -> CommandResult {
        let hub = context.hub()?;
        if !self.watch {
            let (lags, answer) = self.ask(&hub).await?;
            let told = answer.parse::<LagAnswer>()?;
            if told.is_partial() {
                partly::shown("groups", lags.len())?;
            }
            if told.omitted() > 0 {
                note(format!("{} more groups are not shown; name a topic or a group to see them", told.omitted()));
            }
            partly::answered(told.silent_hubs(), "what subscribers hold");
            show(&context.output, &lags, &answer).map(drop)?;
            return self.judge(&lags);
        }
        tokio::select! {
            outcome = self.watch(&hub, &context.output) => outcome,
            // An interrupt is the way to end it.
            _ = tokio::signal::ctrl_c() => Ok(()),
        }
    }

    async fn watch(&self, hub: &HubClient, output: &Output) -> CommandResult {
        let mut lines_shown = 0;
        loop {
            let (lags, answer) = self.ask(hub).await?;
            if output.style == Style::Coloured && !output.is_for_machines() && lines_shown > 0 {
                output.text(&format!("\u{1b}[{lines_shown}A\u{1b}[J"))?;
            }
            lines_shown = show(output, &lags, &answer)?;
            self.judge(&lags)?;
            tokio::time::sleep(self.every).await;
        }
    }

    async fn ask(&self, hub: &HubClient) -> Result<(Vec<LagView>, Answer), Failure> {
        let query = LagQuery { topic: self.topic.clone(), group: self.group.clone() };
        let answer = hub.get(&["lag"], &query).await?;
        let told = answer.parse::<LagAnswer>()?;
        let is_partial = told.is_partial();
        let lags = told.into_lags();
        if is_partial && lags.is_empty() {
            partly::shown("groups", 0)?;
        }
        Ok((lags, answer))
    }

    fn judge(&self, lags: &[LagView]) -> CommandResult {
        let Some(max) = self.max else {
            return Ok(());
        };
        match lags.iter().filter(|lag| lag.lag_events > max).max_by_key(|lag| lag.lag_events) {
            None => Ok(()),
            Some(worst) => {
                let LagView { topic, group, lag_events, .. } = worst;
                let events = if *lag_events == 1 { "event" } else { "events" };
                Err(Failure::no(format!("{group} is {lag_events} {events} behind in {topic}, more than {max}"))
                    .fix(format!("`prom why {topic} {group}` explains what holds it back")))
            }
        }
    }
}

/// Returns the number of lines.
fn show(output: &Output, lags: &[LagView], answer: &Answer) -> Result<usize, Failure> {
    if output.is_for_machines() {
        output.line(answer.text.trim_end())?;
        return Ok(1);
    }
    let mut table = Table::new([
        ("TOPIC", Align::Left),
        ("GROUP", Align::Left),
        ("BEHIND", Align::Right),
        ("OLDEST", Align::Right),
        ("IN FLIGHT", Align::Right),
        ("SETTLED TO", Align::Right),
        ("END", Align::Right),
        ("LETTERS", Align::Right),
    ]);
    for lag in lags {
        table.row([
            lag.topic.to_string(),
            lag.group.to_string(),
            lag.lag_events.to_string(),
            if lag.lag_events == 0 { "-".to_owned() } else { show_age(lag.lag_ms) },
            lag.in_flight.to_string(),
            lag.last_cursor.to_string(),
            lag.tail.to_string(),
            if lag.dead_letters == 0 { String::new() } else { lag.dead_letters.to_string() },
        ]);
    }
    if table.is_empty() {
        output.line("no groups yet")?;
    } else {
        output.table(&table.without_if_empty("LETTERS"))?;
    }
    Ok(1 + lags.len())
}
