//! `prom schema prove`: what a schema would do to the events that are stored.

use std::path::PathBuf;

use clap::Args;
use prom_protocol::http::prove::{ProveReport, ProveResult};
use prom_protocol::http::schema::{RegisterSchema, SchemaReference};
use prom_types::TopicName;

use super::file;
use crate::cli::Context;
use crate::command::names;
use crate::exit::{CommandResult, Failure};
use crate::hub::{HubClient, of_problem};
use crate::output::{Align, Progress, Table, counted, note};
use crate::signals::Signals;

/// Prove a schema on the stored events before it is registered; exit 1 if some would fail
#[derive(Debug, Args)]
#[command(after_help = "\
Every stored event goes through the upcasters and the schema. Nothing is registered or changed. The output is the \
number of events that would fail, the first of them with the reason, and the groups that read the topic. Ctrl-C \
stops it.

Examples:
  prom schema prove orders.placed v2.json
  prom schema prove heartbeat.received v2.json --upcast v1-to-v2.jq
  prom schema prove orders.placed v2.json --json | jq .failed")]
pub struct ProveCommand {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// File with the schema
    file: PathBuf,
    /// File with the jq program from the previous version
    #[arg(long, value_name = "FILE")]
    upcast: Option<PathBuf>,
    /// Another schema in the registry that this one refers to; can be repeated
    #[arg(long, value_name = "NAME=TOPIC:VERSION", value_parser = file::reference)]
    reference: Vec<SchemaReference>,
}

impl ProveCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let request = RegisterSchema {
            schema: file::schema(&self.file)?,
            references: self.reference,
            compat: None,
            version: None,
            upcast: self.upcast.as_deref().map(file::text).transpose()?,
        };
        let result = prove(&context.hub()?, &self.topic, &request).await?;
        match context.output.is_for_machines() {
            true => context.output.json(&result)?,
            false => show(context, &self.topic, &result)?,
        }
        result.notes.iter().for_each(note);
        let ProveResult { failed, unreadable, .. } = result;
        if failed > 0 {
            return Err(Failure::no(format!("{} would fail under {}", counted(failed, "event"), self.file.display()))
                .fix("fix the schema, or give an upcaster that handles them with --upcast"));
        }
        if unreadable > 0 {
            return Err(Failure::no(format!(
                "{} cannot be read, so they are not proven",
                counted(unreadable, "event")
            ))
            .fix("`prom fsck` says what is damaged"));
        }
        Ok(())
    }
}

async fn prove(hub: &HubClient, topic: &TopicName, request: &RegisterSchema) -> Result<ProveResult, Failure> {
    let mut lines = hub.post_for_lines(&["topics", topic, "schema", "prove"], request).await?;
    let progress = Progress::events("proving");
    let mut signals = Signals::listen()?;
    let mut scanned = 0;
    loop {
        let report = tokio::select! {
            report = lines.next() => report?,
            () = signals.next() => {
                return Err(Failure::no(format!("stopped after {}; nothing was changed", counted(scanned, "event")))
                    .fix("run it again to start from the beginning"));
            }
        };
        let Some(report) = report else { break };
        match report {
            ProveReport::Progress(counts) => {
                scanned = counts.scanned;
                progress.is_at(counts.scanned, counts.left);
            }
            ProveReport::Done(result) => return Ok(*result),
            ProveReport::Error(problem) => return Err(of_problem(&problem)),
        }
    }
    Err(Failure::unreachable("the hub fell silent before the end of the proof")
        .fix("check that it is still running, then run the proof again"))
}

fn show(context: &Context, topic: &TopicName, result: &ProveResult) -> CommandResult {
    let ProveResult { version, scanned, failed, failures, .. } = result;
    let output = &context.output;
    output.line(format!("{topic} version {version}: {} looked at, {failed} would fail", counted(*scanned, "event")))?;
    if !failures.is_empty() {
        let mut table = Table::new([
            ("PARTITION", Align::Right),
            ("OFFSET", Align::Right),
            ("ID", Align::Left),
            ("REASON", Align::Left),
        ]);
        for failure in failures {
            let place = [failure.partition.to_string(), failure.offset.to_string()];
            let [partition, offset] = place;
            table.row([partition, offset, failure.id.clone(), failure.reason.clone()]);
        }
        output.table(&table)?;
        let more = failed.saturating_sub(failures.len() as u64);
        if more > 0 {
            output.line(format!("and {more} more"))?;
        }
    }
    output.line(readers(topic, result))
}

fn readers(topic: &TopicName, ProveResult { groups, hidden, .. }: &ProveResult) -> String {
    let mut names: Vec<String> = groups.iter().map(ToString::to_string).collect();
    match hidden {
        0 => {}
        1 => names.push("1 group that this token may not see".to_owned()),
        more => names.push(format!("{more} groups that this token may not see")),
    }
    match names.as_slice() {
        [] => format!("no group reads {topic}"),
        names => format!("groups that read {topic}: {}", names.join(", ")),
    }
}
