//! `prom at`: a topic as it was at a time.

use clap::Args;
use prom_protocol::http::at::{AtPage, AtQuery};
use prom_types::{EpochMs, Event, TopicName};

use super::names;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::moment;

/// Show a topic as it was at a time: one key, or all live keys
#[derive(Debug, Args)]
#[command(after_help = "\
TIME is epoch milliseconds, 2030-01-31T12:00:00Z, or -15m for a quarter of an hour ago; put -- before a relative \
time. The answer is the newest event of the key at that time, whole, as JSON; exit 1 if there was none or the key \
was deleted. With --all: one event per live key, one per line. If retention or compaction removed events that the \
answer needs, the hub refuses with the earliest time that it can answer. `prom diff` shows what changed between two \
times.

Examples:
  prom at process.state web:1 -- -15m
  prom at process.state web:1 2030-01-31T12:00:00Z
  prom at process.state --all 2030-01-31T12:00:00Z > state.ndjson")]
pub struct At {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// The key and the time; with --all only the time
    #[arg(required = true, num_args = 1..=2, value_names = ["KEY", "TIME"])]
    key_and_time: Vec<String>,
    /// All live keys
    #[arg(long)]
    all: bool,
}

impl At {
    pub async fn run(self, context: &Context) -> CommandResult {
        match (&self.key_and_time[..], self.all) {
            ([key, time], false) => self.one(context, key, read_time(time)?).await,
            ([time], true) => self.every(context, read_time(time)?).await,
            ([_], false) => Err(Failure::usage("a key and a time are needed").fix("for all live keys, add --all")),
            _ => Err(Failure::usage("--all takes only a time")),
        }
    }

    async fn one(&self, context: &Context, key: &str, ts: EpochMs) -> CommandResult {
        let query = AtQuery { topic: self.topic.clone(), ts, key: Some(key.to_owned()), limit: None, next: None };
        let answer = context.hub()?.get(&["at"], &query).await?;
        context.output.line(answer.text.trim_end())?;
        match answer.parse::<Option<Event>>()? {
            Some(_) => Ok(()),
            None => Err(Failure::no(format!("{} had no event of {key} then, or it was deleted", self.topic))),
        }
    }

    async fn every(&self, context: &Context, ts: EpochMs) -> CommandResult {
        let hub = context.hub()?;
        let mut next = None;
        loop {
            let query = AtQuery { topic: self.topic.clone(), ts, key: None, limit: Some(1000), next };
            let page: AtPage = hub.get(&["at"], &query).await?.parse()?;
            for event in &page.items {
                context.output.json(event)?;
            }
            next = page.next;
            if next.is_none() {
                return Ok(());
            }
        }
    }
}

pub(super) fn read_time(text: &str) -> Result<EpochMs, Failure> {
    moment::parse(text).map_err(Failure::usage)
}
