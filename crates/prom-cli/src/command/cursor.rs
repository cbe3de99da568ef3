//! `prom cursor`: shows where groups stand in a topic, and moves one.

use clap::{Args, Subcommand};
use prom_protocol::http::cursors::{CursorList, CursorQuery, CursorView, MovedCursor, MovedCursors, SetCursor};
use prom_types::{EpochMs, GroupName, Position, TopicName};

use super::names;
use crate::cli::Context;
use crate::exit::CommandResult;
use crate::output::{Align, Table};
use crate::units::show_age;
use crate::{moment, position};

/// Show the positions of groups, or move one
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
    /// Show the positions of groups in a topic
    #[command(after_help = "\
Examples:
  prom cursor get orders.placed
  prom cursor get orders.placed billing --json")]
    Get {
        /// The topic
        #[arg(value_parser = names::topic)]
        topic: TopicName,
        /// Only this group
        #[arg(value_parser = names::group)]
        group: Option<GroupName>,
    },
    /// Move a group back to redeliver events, or forward to skip them
    #[command(after_help = "\
After a move forward, events before the new position are skipped; events beyond it that are settled or in flight \
stay so.
After a move back, all events from there on are redelivered, and events in flight can no longer be settled.
system.audit records the caller.

Examples:
  prom cursor set orders.placed billing --from earliest --dry-run
  prom cursor set orders.placed billing --from earliest
  prom cursor set orders.placed billing --from ts:-1h
  prom cursor set orders.placed billing --partition 3 --from offset:1200")]
    Set {
        /// The topic
        #[arg(value_parser = names::topic)]
        topic: TopicName,
        /// The group
        #[arg(value_parser = names::group)]
        group: GroupName,
        /// latest, earliest, ts:TIME, after:ID or offset:N
        #[arg(long, value_name = "WHERE", value_parser = position::parse)]
        from: Position,
        /// Only this partition
        #[arg(long, value_name = "N")]
        partition: Option<u32>,
        /// Only show the effect of the move
        #[arg(long)]
        dry_run: bool,
    },
}

impl Cursor {
    pub async fn run(self, context: &Context) -> CommandResult {
        match self.what {
            What::Get { topic, group } => {
                let answer = context.hub()?.get(&["cursors"], &CursorQuery { topic, group }).await?;
                context.show(&answer, |list: CursorList| show(context, &list.cursors))
            }
            What::Set { topic, group, from, partition, dry_run } => {
                let request = SetCursor { topic, group, partition, dry_run, expect: Vec::new(), position: from.into() };
                let answer = context.hub()?.post(&["cursors"], &request).await?;
                context.show(&answer, |moved: MovedCursors| show_moved(context, &moved))
            }
        }
    }
}

fn show(context: &Context, cursors: &[CursorView]) -> CommandResult {
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
            cursor.group.to_string(),
            cursor.partition.to_string(),
            cursor.offset.to_string(),
            cursor.acked_above.to_string(),
            cursor.last_ts.map_or_else(|| "-".to_owned(), age),
            cursor.last_id.map_or_else(|| "-".to_owned(), |id| id.to_string()),
        ]);
    }
    if table.is_empty() {
        return context.output.line("no group reads this topic yet");
    }
    context.output.table(&table)
}

fn show_moved(context: &Context, moved: &MovedCursors) -> CommandResult {
    let columns = ["PARTITION", "BEFORE", "NEXT", "COME AGAIN", "SKIPPED"];
    let mut table = Table::new(columns.map(|column| (column, Align::Right)));
    for MovedCursor { partition, before, offset, come_again, skipped } in &moved.cursors {
        let numbers = [u64::from(*partition), *before, *offset, *come_again, *skipped];
        table.row(numbers.map(|number| number.to_string()));
    }
    context.output.table(&table)?;
    if moved.dry_run {
        context.output.line("nothing was moved; leave out --dry-run to move it")?;
    }
    Ok(())
}
