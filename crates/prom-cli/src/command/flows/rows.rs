//! `prom outbox rows`: rows of an outbox, the oldest first.

use clap::Args;
use prom_protocol::http::flows::{FlowRowList, FlowRowStatus, FlowRowView, FlowRowsQuery};

use super::words;
use crate::cli::Context;
use crate::exit::CommandResult;
use crate::moment;
use crate::output::{Align, Table, note, printable};

/// Topics and keys longer than this are cut in the table: what a service wrote may be of any length.
const NAME_SHOWN: usize = 60;
/// Errors longer than this are cut in the table; --json has all of them.
const ERROR_SHOWN: usize = 100;

#[derive(Debug, Args)]
pub struct ListRows {
    /// Its name, as in prom.toml
    name: String,
    /// Only rows in this status: pending, claimed, sent or error
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<FlowRowStatus>,
    /// Only rows of this topic
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Only rows of this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Only the row with this id
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// At most this many rows, up to 1000
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

fn status(text: &str) -> Result<FlowRowStatus, String> {
    FlowRowStatus::parse(text).ok_or_else(|| "a row is pending, claimed, sent or error".to_owned())
}

impl ListRows {
    pub async fn run(self, context: &Context) -> CommandResult {
        let Self { name, status, topic, key, id, limit } = self;
        let query = FlowRowsQuery { status, topic, key, id, limit: Some(limit) };
        let answer = context.hub()?.get(&["flows", "outbox", &name, "rows"], &query).await?;
        context.show(&answer, |list: FlowRowList| {
            if list.rows.is_empty() {
                return context.output.line(format!("no such rows of {}", printable(&list.outbox)));
            }
            context.output.table(&table(&list.rows))?;
            if list.rows.len() >= limit {
                note("there may be more: raise --limit, or choose by --status, --topic or --key");
            }
            Ok(())
        })
    }
}

fn table(rows: &[FlowRowView]) -> Table {
    let now = moment::now_ms();
    let mut table = Table::new([
        ("ID", Align::Left),
        ("WRITTEN", Align::Right),
        ("TOPIC", Align::Left),
        ("KEY", Align::Left),
        ("STATUS", Align::Left),
        ("FAILED TRIES", Align::Right),
        ("ERROR", Align::Left),
    ]);
    for row in rows {
        table.row([
            row.id.clone(),
            format!("{} ago", words::age(row.ts, now)),
            shortened(&row.topic, NAME_SHOWN),
            row.key.as_deref().map_or_else(String::new, |key| shortened(key, NAME_SHOWN)),
            row.status.clone(),
            row.attempts.to_string(),
            row.last_err.as_deref().map_or_else(String::new, |error| shortened(error, ERROR_SHOWN)),
        ]);
    }
    table.without_if_empty("KEY").without_if_empty("ERROR")
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
