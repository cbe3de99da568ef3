//! `prom pub`: one event from the command line, or many from standard input.
//!
//! Promise: what is told as published is stored. A line that cannot be published is told with its number and stops
//! nothing; the exit code says that there was one.

use std::io::IsTerminal;

use clap::Args;
use futures::StreamExt;
use prom_client::Client;
use prom_types::{EventId, Expectation, Headers, Json, NewEvent, Receipt, TopicName};

use super::input::LineInput;
use super::line::{self, LineKind};
use super::names;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::hub::of_client;
use crate::output::{Progress, note};

/// Publish an event, or one per line of standard input
#[derive(Debug, Args)]
#[command(after_help = "\
The payload is JSON: text needs quotes, '\"like this\"'. The receipt comes when the event is stored.
With -, every line of standard input is a payload. With --events, every line is an object with payload and any other \
fields of the event: topic, key, id, exact, ts, headers, tags, caused_by, sid, partition, expect.

With --expect-key-offset or --expect-offset nothing is stored unless the condition holds; otherwise the exit code is \
1, and the message has the actual value. --expect-key-offset needs a topic with versions (prom topics set TOPIC \
--versions on).

Examples:
  prom pub hello '{\"n\":1}'
  prom pub orders.placed '{\"id\":7}' --key 7 --header x-source=web --tag test
  prom pub heartbeat.received '{\"pid\":7}' --dual-write
  prom pub accounts '{\"opened\":true}' --key 7 --expect-key-offset none
  prom pub accounts '{\"paid_in\":5}' --key 7 --expect-key-offset 0
  seq 1000 | prom pub numbers -
  prom pub orders.placed - --events < orders.ndjson")]
pub struct Publish {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// The payload, or - for one per line of standard input
    #[arg(value_name = "JSON", default_value = "-", allow_hyphen_values = true)]
    payload: String,
    /// Key of the event; it decides the partition, the order and compaction
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// A header such as x-source=web; can be repeated
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// A tag; can be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Id of an event that caused this one; can be repeated
    #[arg(long, value_name = "ID", value_parser = event_id)]
    caused_by: Vec<EventId>,
    /// Id of the event; publishing the same id again within ten minutes stores nothing
    #[arg(long, value_name = "ID", value_parser = event_id)]
    id: Option<EventId>,
    /// Also store it in the topic of its schema's version, such as orders.placed.v2: both or neither
    #[arg(long)]
    dual_write: bool,
    /// Store it only if the next offset of its partition is N
    #[arg(long, value_name = "N", conflicts_with = "expect_key_offset")]
    expect_offset: Option<u64>,
    /// Store it only if the newest event of its key has offset N, or with `none` if the key has no live event
    #[arg(long, value_name = "N|none", value_parser = key_offset)]
    expect_key_offset: Option<KeyOffset>,
    /// Lines are whole events instead of payloads; TOPIC applies to events without one
    #[arg(
        long,
        conflicts_with_all = ["key", "headers", "tags", "caused_by", "id", "expect_offset", "expect_key_offset"]
    )]
    events: bool,
}

/// Publishes that are under way at the same time.
const UNDER_WAY: usize = 1024;

impl Publish {
    pub async fn run(self, context: &Context) -> CommandResult {
        let template = self.template()?;
        match self.payload.as_str() {
            "-" if self.id.is_some() => {
                Err(Failure::usage("--id is for a single event, but standard input may have many")
                    .fix("give ids in the lines instead, with --events"))
            }
            "-" if template.expect.is_some() => {
                Err(Failure::usage("--expect-… is for a single event, but standard input may have many")
                    .fix("give `expect` in the lines instead, with --events"))
            }
            "-" => self.publish_lines(context, &template).await,
            _ if self.events => Err(Failure::usage("--events is for lines of standard input").fix("use - as payload")),
            payload => {
                let payload = Json::parse(payload.to_owned())
                    .map_err(|error| Failure::usage(format!("{error}")).fix("text needs quotes: '\"like this\"'"))?;
                publish_one(context, NewEvent { payload, ..template }).await
            }
        }
    }

    /// What flags say about every event.
    fn template(&self) -> Result<NewEvent, Failure> {
        let mut headers = Headers::default();
        for (name, value) in &self.headers {
            headers.insert(name, value).map_err(|error| Failure::usage(error.to_string()))?;
        }
        let mut event = NewEvent::new(self.topic.clone(), Json::NULL);
        event.id = self.id;
        event.key.clone_from(&self.key);
        event.tags.clone_from(&self.tags);
        event.caused_by.clone_from(&self.caused_by);
        event.headers = headers;
        event.dual_write = self.dual_write;
        let of_key = self.expect_key_offset.map(|KeyOffset(offset)| Expectation::KeyOffset(offset));
        event.expect = of_key.or(self.expect_offset.map(Expectation::Offset));
        Ok(event)
    }

    async fn publish_lines(&self, context: &Context, template: &NewEvent) -> CommandResult {
        let kind = if self.events { LineKind::Events } else { LineKind::Payloads };
        let client = context.hub()?.connect().await?;
        if std::io::stdin().is_terminal() {
            note("reading standard input, one line for each event; Ctrl-D ends");
        }
        let progress = Progress::count("published");
        let lines = LineInput::standard().lines();
        let lines = futures::stream::unfold(lines, |mut lines| async move { Some((lines.recv().await?, lines)) });
        let results = lines.map(|line| publish_line(&client, line, kind, template)).buffered(UNDER_WAY);
        let mut tally = Tally::default();
        futures::pin_mut!(results);
        while let Some((number, result)) = results.next().await {
            match result {
                Ok(receipt) => {
                    tally.published += 1;
                    tally.duplicates += u64::from(receipt.duplicate);
                    progress.advance(1);
                    if context.output.is_for_machines() {
                        context.output.json(&receipt)?;
                    }
                }
                Err(failure @ Failure::Unreachable(_)) => {
                    drop(progress);
                    note(format!("published {} events before line {number}", tally.published));
                    return Err(failure);
                }
                Err(failure) => tally.failed(number, failure),
            }
        }
        drop(progress);
        client.close().await;
        if !context.output.is_for_machines() {
            context.output.line(tally.line())?;
        }
        tally.outcome()
    }
}

async fn publish_one(context: &Context, event: NewEvent) -> CommandResult {
    event.check().map_err(|error| Failure::usage(error.to_string()))?;
    let client = context.hub()?.connect().await?;
    let topic = event.topic.clone();
    let receipt = client.publish_event(event).await.map_err(of_client)?;
    client.close().await;
    if context.output.is_for_machines() {
        context.output.json(&receipt)
    } else {
        let Receipt { id, partition, offset, durability, duplicate, .. } = receipt;
        let place = format!("{topic}/{partition} offset {offset}, id {id}, durable: {}", durability.as_str());
        let before = if duplicate { "; this id was there before, nothing was stored" } else { "" };
        context.output.line(format!("{place}{before}"))
    }
}

async fn publish_line(
    client: &Client,
    line: std::io::Result<(u64, String)>,
    kind: LineKind,
    template: &NewEvent,
) -> (u64, Result<Receipt, Failure>) {
    let (number, text) = match line {
        Ok(line) => line,
        Err(error) => return (0, Err(Failure::no(format!("standard input cannot be read: {error}")))),
    };
    let event = match line::read(&text, kind, template) {
        Ok(event) => event,
        Err(reason) => return (number, Err(Failure::usage(reason))),
    };
    (number, client.publish_event(event).await.map_err(of_client))
}

/// What became of the lines.
#[derive(Default)]
struct Tally {
    published: u64,
    /// Of these: were there before.
    duplicates: u64,
    failed: u64,
    /// Decides how the command ends.
    first: Option<Failure>,
}

impl Tally {
    fn line(&self) -> String {
        match self.duplicates {
            0 => format!("published {} events", self.published),
            duplicates => format!("published {} events, {duplicates} of them were there before", self.published),
        }
    }

    fn failed(&mut self, number: u64, failure: Failure) {
        note(format!("line {number}: {}", failure.text().unwrap_or_default()));
        self.failed += 1;
        self.first.get_or_insert(failure);
    }

    fn outcome(self) -> CommandResult {
        let what = match self.failed {
            1 => "1 line was not published".to_owned(),
            failed => format!("{failed} lines were not published"),
        };
        match self.first {
            None => Ok(()),
            Some(Failure::Usage(_)) => Err(Failure::usage(what)),
            Some(Failure::Refused(_)) => Err(Failure::refused(what)),
            Some(_) => Err(Failure::no(what)),
        }
    }
}

/// `none` where no live event is expected.
#[derive(Debug, Clone, Copy)]
struct KeyOffset(Option<u64>);

fn key_offset(text: &str) -> Result<KeyOffset, String> {
    match text {
        "none" => Ok(KeyOffset(None)),
        number => match number.parse() {
            Ok(offset) => Ok(KeyOffset(Some(offset))),
            Err(_) => Err(format!("`{text}` is neither an offset nor none")),
        },
    }
}

fn event_id(text: &str) -> Result<EventId, String> {
    EventId::parse(text).map_err(|error| error.to_string())
}

fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(format!("`{text}` has no value; write NAME=VALUE")),
    }
}
