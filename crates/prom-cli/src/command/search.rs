//! `prom search`: the newest events of a topic that match, page after page until enough are found.

use clap::Args;
use prom_protocol::http::search::SearchQuery;
use prom_types::{EpochMs, TopicName};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::names;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::moment;
use crate::output::{counted, note};

/// More than the hub gives at once.
const PAGE: usize = 100;

/// Find events, newest first, one per line
#[derive(Debug, Args)]
#[command(after_help = "\
The hub reads backwards from the newest event. A program such as '.payload.customer == 7' uses an index, if the \
topic declares it (`prom topics set`). All conditions must hold. Exit code 1: nothing matched.

Examples:
  prom search orders.placed timeout
  prom search orders.placed --key 4711 --limit 1
  prom search orders.placed --jq '.payload.total > 1000' --from-ts -1h
  prom search orders.placed --header x-tenant:acme | jq .payload")]
pub struct Search {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// Text that occurs in the id, the key, the headers, the tags or the payload; ASCII letters in either case
    text: Option<String>,
    /// A jq program over the whole event that gives true
    #[arg(long, value_name = "PROGRAM")]
    jq: Option<String>,
    /// The key, exactly
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// A header: its name, or name:value
    #[arg(long, value_name = "HEADER")]
    header: Option<String>,
    /// Only events stored at or after this time
    #[arg(long, value_name = "TIME", value_parser = moment::parse, allow_hyphen_values = true)]
    from_ts: Option<EpochMs>,
    /// Only events stored at or before this time
    #[arg(long, value_name = "TIME", value_parser = moment::parse, allow_hyphen_values = true)]
    to_ts: Option<EpochMs>,
    /// Stop after this many events
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Scan at most about this many events
    #[arg(long, value_name = "N")]
    scan: Option<u64>,
}

/// A page with its events as the hub wrote them.
#[derive(Deserialize)]
struct Page {
    scanned: u64,
    items: Vec<Box<RawValue>>,
    next: Option<String>,
    #[serde(default)]
    index: Option<String>,
    #[serde(default)]
    failed: u64,
    #[serde(default)]
    failure: Option<String>,
    #[serde(default)]
    unreadable: u64,
}

impl Search {
    pub async fn run(self, context: &Context) -> CommandResult {
        let hub = context.hub()?;
        let (limit, scan) = (self.limit, self.scan.unwrap_or(u64::MAX));
        let mut query = SearchQuery {
            topic: self.topic,
            text: self.text,
            jq: self.jq,
            key: self.key,
            header: self.header,
            from_ts: self.from_ts,
            to_ts: self.to_ts,
            limit: None,
            next: None,
        };
        let (mut found, mut scanned, mut failed, mut failure, mut unreadable) = (0, 0, 0, None, 0);
        let index = loop {
            query.limit = Some(usize::try_from(limit - found).unwrap_or(PAGE).min(PAGE));
            let page = hub.get(&["search"], &query).await?.parse::<Page>()?;
            for item in &page.items {
                context.output.line(item.get())?;
            }
            found += page.items.len() as u64;
            scanned += page.scanned;
            failed += page.failed;
            unreadable += page.unreadable;
            failure = failure.or(page.failure);
            query.next = page.next;
            if query.next.is_none() || found >= limit || scanned >= scan {
                break page.index;
            }
        };
        if let Some(reason) = failure {
            note(format!(
                "the program failed on {}, which do not count as matches: {reason}",
                counted(failed, "event")
            ));
        }
        if unreadable > 0 {
            note(format!("{} cannot be read", counted(unreadable, "event")));
        }
        let older = if query.next.is_some() { "; older events were not scanned" } else { "" };
        if found == 0 {
            return Err(Failure::no(format!("nothing matched among {}{older}", counted(scanned, "event"))));
        }
        if !context.output.is_for_machines() {
            let by = index.map_or_else(String::new, |index| format!(", by the index {index}"));
            note(format!("{found} of {}{older}{by}", counted(scanned, "event")));
        }
        Ok(())
    }
}
