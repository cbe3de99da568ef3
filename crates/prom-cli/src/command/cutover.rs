//! `prom cutover`: a topic's history as its latest version has it, in another topic, as documents or as a snapshot.

use clap::Args;
use prom_protocol::http::cutover::{CutoverCounts, CutoverReport, CutoverRequest, CutoverResult};
use prom_types::TopicName;

use super::names;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::hub::{HubClient, of_problem};
use crate::output::{Progress, counted, note};
use crate::signals::Signals;

/// Copy all stored events of a topic, in its latest schema version, to another topic
#[derive(Debug, Args)]
#[command(after_help = "\
Events go through the upcasters into TOPIC.vN, where N is the latest version. They keep id, key, headers, time, \
partition and order. The original topic does not change. Each step is stored together with its progress: after \
Ctrl-C or a crash, run the command again and it resumes, storing nothing twice. At the end the counts are compared: \
events read = written + already there + skipped; exit 1 if they differ. system.audit records the caller.

A collection holds the latest event of each key; a tombstone deletes it, and events without a key are skipped. Read \
it over HTTP at /snap/NAME/KEY and /list/NAME; lists can be filtered by the fields declared with --field on the \
first run.

A snapshot also holds the latest event of each live key, in TOPIC.snapshot.vN, sorted by key, followed by a marker \
in each partition: a cold start reads it and then the events after it. Each run writes a new snapshot.

Examples:
  prom cutover heartbeat.received
  prom cutover heartbeat.received --to heartbeat.clean --skip-unfit
  prom cutover process.state --to-collection processes --field status --field host
  prom cutover process.state --to-snapshot")]
pub struct CutoverCommand {
    /// The topic whose events are copied
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// Into this topic instead of TOPIC.vN
    #[arg(long, value_name = "TOPIC", value_parser = names::topic)]
    to: Option<TopicName>,
    /// Into documents of this collection, one for each key
    #[arg(long, value_name = "NAME", conflicts_with = "to")]
    to_collection: Option<String>,
    /// Into a snapshot, TOPIC.snapshot.vN: the latest event of each key
    #[arg(long, conflicts_with_all = ["to", "to_collection"])]
    to_snapshot: bool,
    /// A payload field to filter lists of the collection by, such as status; up to 8
    #[arg(long, value_name = "FIELD", requires = "to_collection")]
    field: Vec<String>,
    /// Skip events that cannot be upcast, and count them
    #[arg(long)]
    skip_unfit: bool,
}

impl CutoverCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let Self { topic, to, to_collection, to_snapshot, field, skip_unfit } = self;
        let request = CutoverRequest { to, to_collection, to_snapshot, fields: field, skip_unfit };
        let result = cutover(&context.hub()?, &topic, &request).await?;
        match context.output.is_for_machines() {
            true => context.output.json(&result)?,
            false => context.output.line(told(&result))?,
        }
        if result.counts.unreadable > 0 {
            note(format!(
                "{} cannot be read; `prom fsck` lists the damage",
                counted(result.counts.unreadable, "event")
            ));
        }
        if result.counts.left > 0 {
            note(format!("{} arrived meanwhile; run it again", counted(result.counts.left, "event")));
        }
        if result.adds_up {
            return Ok(());
        }
        Err(Failure::no("the counts do not match: events read differ from written + already there + skipped")
            .fix("choose another target with --to and run it again"))
    }
}

async fn cutover(hub: &HubClient, topic: &TopicName, request: &CutoverRequest) -> Result<CutoverResult, Failure> {
    let mut lines = hub.post_for_lines(&["topics", topic, "cutover"], request).await?;
    let progress = Progress::events("cutting over");
    let mut signals = Signals::listen()?;
    let mut last = None;
    loop {
        let report = tokio::select! {
            report = lines.next() => report?,
            () = signals.next() => return Err(stopped(topic, last)),
        };
        let Some(report) = report else { break };
        match report {
            CutoverReport::Progress(counts) => {
                last = Some(counts);
                progress.is_at(counts.read, counts.left);
            }
            CutoverReport::Done(result) => return Ok(result),
            CutoverReport::Error(problem) if problem.code == "schema_invalid" => {
                return Err(Failure::no(problem.detail.clone())
                    .fix("fix the upcaster with `prom schema upcast`, or skip such events with --skip-unfit"));
            }
            CutoverReport::Error(problem) => return Err(of_problem(&problem)),
        }
    }
    Err(Failure::unreachable("the hub fell silent before the end of the cutover")
        .fix("check that it is still running, then run the command again: it resumes"))
}

fn stopped(topic: &TopicName, last: Option<CutoverCounts>) -> Failure {
    let far = match last {
        Some(counts) => format!("{} of {topic} read, about {} left", counted(counts.read, "event"), counts.left),
        None => format!("the hub had not told yet how far {topic} is"),
    };
    Failure::no(format!("stopped: {far}")).fix("run the same command again to resume")
}

fn told(CutoverResult { topic, to, version, counts, read_before, adds_up, .. }: &CutoverResult) -> String {
    let is_same = counts.read > 0 && counts.read == *read_before;
    let news = if is_same { "; nothing new since the last run" } else { "" };
    let sum = if *adds_up { "=" } else { "≠" };
    let keyless = match counts.without_key {
        0 => String::new(),
        many => format!(" ({many} without a key)"),
    };
    format!(
        "{topic} is in {to} as version {version}: {} read {sum} {} written + {} already there + {} skipped{keyless}{news}",
        counted(counts.read, "event"),
        counts.written,
        counts.already,
        counts.skipped
    )
}
