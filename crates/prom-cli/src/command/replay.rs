//! `prom replay`: the events of a topic once more, through a jq program, into another topic.

use clap::Args;
use prom_protocol::http::replay_into::{ReplayIntoCounts, ReplayIntoReport, ReplayIntoRequest};
use prom_types::{Position, TopicName};

use super::names;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::hub::{HubClient, of_problem};
use crate::output::{Progress, counted, note};
use crate::position;
use crate::signals::Signals;

/// Replay a topic's events into another topic, filtered and changed by jq
#[derive(Debug, Args)]
#[command(after_help = "\
The program gets each whole event. No output leaves the event out; of each output, key, headers and payload are \
used. The first output keeps the event's id, so an event is stored in the target once, however often it is replayed. \
Each step is stored with its progress: after Ctrl-C or a crash, run the same command again and it resumes; a later \
run adds the events since. If both topics have the same number of partitions, events keep theirs. system.audit \
records the caller.

Examples:
  prom replay orders.placed orders.test
  prom replay orders.placed orders.de --jq 'select(.payload.country == \"DE\")'
  prom replay orders.placed orders.lines --jq '. as $e | .payload.lines[] | $e + {payload: .}'
  prom replay orders.placed orders.recent --from ts:-1h")]
pub struct ReplayCommand {
    /// The topic whose events are read
    #[arg(value_name = "FROM", value_parser = names::topic)]
    topic: TopicName,
    /// The target topic
    #[arg(value_name = "TO", value_parser = names::topic)]
    to: TopicName,
    /// A jq program from event to events
    #[arg(long, value_name = "PROGRAM")]
    jq: Option<String>,
    /// Where the first run starts: earliest, ts:TIME, after:ID or offset:N
    #[arg(long, value_name = "POSITION", default_value = "earliest", value_parser = position::parse)]
    from: Position,
    /// Skip events that the program cannot build or the hub refuses, and count them
    #[arg(long)]
    skip_unfit: bool,
}

impl ReplayCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let request = ReplayIntoRequest {
            topic: self.topic,
            to: self.to,
            transform: self.jq,
            position: Some(self.from.into()),
            skip_unfit: self.skip_unfit,
        };
        let counts = replay(&context.hub()?, &request).await?;
        match context.output.is_for_machines() {
            true => context.output.json(&counts)?,
            false => context.output.line(told(&request, &counts))?,
        }
        if counts.unreadable > 0 {
            note(format!("{} cannot be read; `prom fsck` lists the damage", counted(counts.unreadable, "event")));
        }
        if counts.left > 0 {
            note(format!("{} arrived meanwhile; run it again", counted(counts.left, "event")));
        }
        Ok(())
    }
}

async fn replay(hub: &HubClient, request: &ReplayIntoRequest) -> Result<ReplayIntoCounts, Failure> {
    let mut lines = hub.post_for_lines(&["replay"], request).await?;
    let progress = Progress::events("replaying");
    let mut signals = Signals::listen()?;
    loop {
        let report = tokio::select! {
            report = lines.next() => report?,
            () = signals.next() => {
                return Err(Failure::no("stopped").fix("run the same command again to resume"));
            }
        };
        match report {
            Some(ReplayIntoReport::Progress(counts)) => progress.is_at(counts.read, counts.left),
            Some(ReplayIntoReport::Done(counts)) => return Ok(counts),
            Some(ReplayIntoReport::Error(problem)) if problem.code == "schema_invalid" => {
                return Err(Failure::no(problem.detail.clone())
                    .fix("mend the program and replay into a new topic, or leave such events out with --skip-unfit"));
            }
            Some(ReplayIntoReport::Error(problem)) => return Err(of_problem(&problem)),
            None => break,
        }
    }
    Err(Failure::unreachable("the hub fell silent before the end of the replay")
        .fix("check that it is still running, then run the command again: it resumes"))
}

fn told(request: &ReplayIntoRequest, counts: &ReplayIntoCounts) -> String {
    let ReplayIntoRequest { topic, to, .. } = request;
    let ReplayIntoCounts { read, sent, left_out, skipped, .. } = counts;
    format!(
        "{topic} is replayed into {to}: {} read, {sent} sent, {left_out} left out, {skipped} skipped",
        counted(*read, "event")
    )
}
