//! `prom snapshot`: the state of a topic, written down and listed.

use clap::Args;
use prom_protocol::http::snapshot::{SnapshotList, SnapshotReport, SnapshotView};
use prom_types::TopicName;

use super::names;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::hub::of_problem;
use crate::moment;
use crate::output::{Align, Progress, Table, counted};

/// Take a snapshot of a topic's state, or list its snapshots
#[derive(Debug, Args)]
#[command(after_help = "\
A snapshot is one event per live key in TOPIC.snapshot, then a marker in each partition. The hub finishes a snapshot \
even if you stop this command. `snapshot = \"30s\"` in [[topic]] takes snapshots automatically.

Examples:
  prom snapshot process.state
  prom snapshot process.state --list")]
pub struct SnapshotCommand {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// Only list the complete snapshots, oldest first
    #[arg(long)]
    list: bool,
}

impl SnapshotCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        if self.list {
            let answer = context.hub()?.get(&["topics", &self.topic, "snapshots"], &()).await?;
            return context.show(&answer, |list: SnapshotList| context.output.table(&table(&list.snapshots)));
        }
        let mut lines = context.hub()?.post_for_lines(&["topics", &self.topic, "snapshot"], &()).await?;
        let progress = Progress::events("writing keys");
        while let Some(report) = lines.next().await? {
            match report {
                SnapshotReport::Progress(keys) => progress.is_at(keys, 0),
                SnapshotReport::Error(problem) => return Err(of_problem(&problem)),
                SnapshotReport::Done(view) if context.output.is_for_machines() => return context.output.json(&view),
                SnapshotReport::Done(view) => {
                    let keys = counted(view.count, "live key");
                    let (place, id) = (&view.snapshot_topic, &view.id);
                    return context.output.line(format!("snapshot {id} of {} in {place}: {keys}", self.topic));
                }
            }
        }
        Err(Failure::unreachable("the hub fell silent before the end of the snapshot")
            .fix("check that it is still running; it finishes the snapshot on its own"))
    }
}

fn table(snapshots: &[SnapshotView]) -> Table {
    let mut table = Table::new([
        ("ID", Align::Left),
        ("BEGAN", Align::Right),
        ("KEYS", Align::Right),
        ("WHOLE", Align::Left),
        ("NEXT EVENTS", Align::Left),
    ]);
    for one in snapshots {
        let whole = if one.whole { "yes" } else { "no" };
        let row = [
            one.id.clone(),
            moment::show(one.began_ts),
            one.count.to_string(),
            whole.to_owned(),
            one.events_next.clone(),
        ];
        table.row(row);
    }
    table
}
