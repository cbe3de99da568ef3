//! `prom cursor`: where groups stand in a topic, and putting one somewhere else.

use clap::{Args, Subcommand};
use prom_types::{EpochMs, GroupName, Offset, TopicName};
use serde::{Deserialize, Serialize};

use super::names;
use crate::cli::Context;
use crate::exit::Outcome;
use crate::moment;
use crate::output::{Align, Table};
use crate::position::StartFrom;
use crate::units::show_age;

/// Show where groups stand, or move one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom cursor get orders.placed
  prom cursor set orders.placed billing --from earliest")]
pub struct Cursor {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show where groups stand in a topic
    #[command(after_help = "\
Examples:
  prom cursor get orders.placed
  prom cursor get orders.placed billing --json")]
    Get {
        /// What is read
        #[arg(value_parser = names::topic)]
        topic: TopicName,
        /// Only this group
        #[arg(value_parser = names::group)]
        group: Option<GroupName>,
    },
    /// Move a group back to see events again, or forward to skip them
    #[command(after_help = "\
What is in flight at that moment can no longer be settled. The move is written to system.audit.

Examples:
  prom cursor set orders.placed billing --from earliest
  prom cursor set orders.placed billing --from ts:-1h
  prom cursor set orders.placed billing --partition 3 --from offset:1200")]
    Set {
        /// What is read
        #[arg(value_parser = names::topic)]
        topic: TopicName,
        /// Who is moved
        #[arg(value_parser = names::group)]
        group: GroupName,
        /// latest, earliest, ts:TIME, after:ID or offset:N
        #[arg(long, value_name = "WHERE")]
        from: StartFrom,
        /// Only this partition
        #[arg(long, value_name = "N")]
        partition: Option<u32>,
    },
}

#[derive(Debug, Deserialize)]
struct Cursors {
    cursors: Vec<One>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct One {
    group: String,
    partition: u32,
    offset: Offset,
    last_id: Option<String>,
    last_ts: Option<EpochMs>,
    acked_above: u64,
}

/// Where a group stands after a move.
#[derive(Debug, Deserialize)]
struct Moved {
    cursors: Vec<MovedOne>,
}

#[derive(Debug, Deserialize)]
struct MovedOne {
    partition: u32,
    offset: Offset,
}

#[derive(Debug, Serialize)]
struct Move<'a> {
    topic: &'a TopicName,
    group: &'a GroupName,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<u32>,
    #[serde(flatten)]
    from: StartFrom,
}

impl Cursor {
    pub async fn run(self, context: &Context) -> Outcome {
        match self.what {
            What::Get { topic, group } => get(context, &topic, group.as_ref()).await,
            What::Set { topic, group, from, partition } => {
                let request = Move { topic: &topic, group: &group, partition, from };
                let answer = context.hub()?.post(&["cursors"], &request).await?;
                match context.output.is_for_machines() {
                    true => context.output.line(answer.text.trim_end()),
                    false => show_moved(context, &answer.parse::<Moved>()?.cursors),
                }
            }
        }
    }
}

async fn get(context: &Context, topic: &TopicName, group: Option<&GroupName>) -> Outcome {
    let query = [("topic", Some(topic.to_string())), ("group", group.map(ToString::to_string))];
    let answer = context.hub()?.get(&["cursors"], &query).await?;
    match context.output.is_for_machines() {
        true => context.output.line(answer.text.trim_end()),
        false => show(context, &answer.parse::<Cursors>()?.cursors),
    }
}

fn show(context: &Context, cursors: &[One]) -> Outcome {
    let mut table = Table::new([
        ("GROUP", Align::Left),
        ("PARTITION", Align::Right),
        ("SETTLED TO", Align::Right),
        ("BEYOND", Align::Right),
        ("LAST STORED", Align::Right),
        ("LAST ID", Align::Left),
    ]);
    let now = moment::now_ms();
    let age = |ts: EpochMs| format!("{} ago", show_age(now.saturating_sub(ts).max(0).unsigned_abs()));
    for cursor in cursors {
        table.row([
            cursor.group.clone(),
            cursor.partition.to_string(),
            cursor.offset.to_string(),
            cursor.acked_above.to_string(),
            cursor.last_ts.map_or_else(|| "-".to_owned(), age),
            cursor.last_id.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    match table.is_empty() {
        true => context.output.line("no group reads this topic yet"),
        false => context.output.table(&table),
    }
}

fn show_moved(context: &Context, cursors: &[MovedOne]) -> Outcome {
    let mut table = Table::new([("PARTITION", Align::Right), ("NEXT", Align::Right)]);
    for MovedOne { partition, offset } in cursors {
        table.row([partition.to_string(), offset.to_string()]);
    }
    context.output.table(&table)
}
