//! `prom diff`: what became of a topic's keys between two times.

use clap::Args;
use prom_protocol::http::at::{DiffPage, DiffQuery, KeyChangeKind, KeyDifference};
use prom_types::{Event, TopicName};

use super::at::read_time;
use super::names;
use crate::cli::Context;
use crate::exit::CommandResult;
use crate::moment;
use crate::output::{Align, Table};

/// Show which keys of a topic were made, changed or deleted between two times
#[derive(Debug, Args)]
#[command(after_help = "\
Times are epoch milliseconds, 2030-01-31T12:00:00Z, or -15m for a quarter of an hour ago; put -- before a relative \
time. With --json each key is one line, with the whole events before and after.

Examples:
  prom diff process.state 2030-01-31T12:00:00Z 2030-01-31T13:00:00Z
  prom diff process.state --json -- -1h | jq .key")]
pub struct DiffCommand {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// The first time
    from: String,
    /// The second time [default: now]
    to: Option<String>,
}

impl DiffCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let from = read_time(&self.from)?;
        let to = self.to.as_deref().map_or_else(|| Ok(moment::now_ms()), read_time)?;
        let hub = context.hub()?;
        let mut next = None;
        loop {
            let query = DiffQuery { topic: self.topic.clone(), from, to, limit: Some(1000), next };
            let page: DiffPage = hub.get(&["diff"], &query).await?.parse()?;
            if context.output.is_for_machines() {
                page.items.iter().try_for_each(|item| context.output.json(item))?;
            } else if !page.items.is_empty() {
                context.output.table(&table(&page.items))?;
            }
            next = page.next;
            if next.is_none() {
                return Ok(());
            }
        }
    }
}

fn table(items: &[KeyDifference]) -> Table {
    let mut table =
        Table::new([("KEY", Align::Left), ("CHANGE", Align::Left), ("BEFORE", Align::Left), ("AFTER", Align::Left)]);
    for item in items {
        let change = match item.change {
            KeyChangeKind::Made => "made",
            KeyChangeKind::Changed => "changed",
            KeyChangeKind::Deleted => "deleted",
        };
        table.row([item.key.clone(), change.to_owned(), shown(item.before.as_ref()), shown(item.after.as_ref())]);
    }
    table
}

/// Where it is and the beginning of what it says.
fn shown(event: Option<&Event>) -> String {
    const LONGEST: usize = 40;
    let Some(event) = event else { return "-".to_owned() };
    let text: String = event.payload.as_str().chars().take(LONGEST + 1).collect();
    let cut = if text.chars().count() > LONGEST { "…" } else { "" };
    let text: String = text.chars().take(LONGEST).collect();
    format!("@{} {text}{cut}", event.offset)
}
