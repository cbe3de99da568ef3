//! `prom topics set`: makes a topic or changes its settings. The hub takes all settings at once, so the present ones are
//! read first.

use std::time::Duration;

use clap::Args;
use prom_engine::limits::TOMBSTONE_GRACE;
use prom_protocol::http::topics::{CompactionChoice, DualWriteView, PutTopic, TopicView};
use prom_types::{Compaction, SnapshotSettings, TopicName};

use super::describe;
use crate::cli::Context;
use crate::command::names;
use crate::exit::{CommandResult, Failure};
use crate::moment;
use crate::units::{millis, parse_duration, parse_size};

/// Create a topic, or change one; settings that you leave out do not change
#[derive(Debug, Args)]
#[command(after_help = "\
Partitions can be raised, not lowered. Raising moves keys to other partitions, so that older and newer events of a \
key may be handled at the same time. A topic with events cannot become compacted.

Examples:
  prom topics set orders.placed --partitions 4 --keep-for 30d --keep-bytes 10GB
  prom topics set process.state --compaction on --min-age 1h --snapshot 30s
  prom topics set orders.placed --mask /card/number --mask '/items/*/price'
  prom topics set orders.placed --index .payload.customer
  prom topics set accounts --versions on
  prom topics set heartbeat.received --dual-write 2030-01-31T12:00:00Z")]
pub struct SetTopic {
    /// Name of the topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// Number of partitions; events of one key stay in one partition and in order
    #[arg(long, value_name = "N")]
    partitions: Option<u32>,
    /// A jq program that computes the key of events without one, such as `.payload.processId`, or `none`
    #[arg(long, value_name = "PROGRAM")]
    key: Option<String>,
    /// How long events are retained, such as 30d, or `forever`
    #[arg(long, value_name = "DURATION", value_parser = keep_for)]
    keep_for: Option<Keep<Duration>>,
    /// How many bytes of events are retained per partition, such as 10GB, or `all`
    #[arg(long, value_name = "SIZE", value_parser = keep_bytes)]
    keep_bytes: Option<Keep<u64>>,
    /// Keep only the latest event of each key: on or off
    #[arg(long, value_name = "SWITCH", value_parser = switch)]
    compaction: Option<Switch>,
    /// Keep the newest offset of each key, for --expect-key-offset: on or off
    #[arg(long, value_name = "SWITCH", value_parser = switch)]
    versions: Option<Switch>,
    /// With --compaction on: keep every event for at least this long, so that `prom at` can look that far back
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    min_age: Option<Duration>,
    /// How often to write a snapshot of the state to TOPIC.snapshot, such as 30s, or `never`
    #[arg(long, value_name = "DURATION", value_parser = snapshot_every)]
    snapshot: Option<Every>,
    /// Failed attempts before an event goes to the dead letters
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// A part of the payload that only administrators see, as a JSON pointer such as /card/number, or `none`; can be repeated
    #[arg(long, value_name = "POINTER")]
    mask: Vec<String>,
    /// A jq expression to index for searches, such as .payload.customer, or `none`; can be repeated
    #[arg(long, value_name = "EXPRESSION")]
    index: Vec<String>,
    /// Also store each event in the topic of its schema's version: on, off, or an end time such as 2030-01-31T12:00:00Z
    #[arg(long, value_name = "SWITCH|TIME", value_parser = dual_write)]
    dual_write: Option<DualWriteChoice>,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DualWriteChoice {
    Off,
    On(DualWriteView),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep<T> {
    Everything,
    UpTo(T),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Every {
    Never,
    So(Duration),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Switch {
    On,
    Off,
}

impl SetTopic {
    pub async fn run(self, context: &Context) -> CommandResult {
        let hub = context.hub()?;
        let path = ["topics", self.topic.as_str()];
        let before = match hub.get(&path, &()).await {
            Ok(answer) => answer.parse::<TopicView>()?.settings.into(),
            // The topic does not exist yet.
            Err(Failure::No(_)) => PutTopic::default(),
            Err(failure) => return Err(failure),
        };
        let answer = hub.put(&path, &self.over(before)).await?;
        context.show(&answer, |settings| context.output.line(format!("{}: {}", self.topic, describe(&settings))))
    }

    fn over(&self, mut settings: PutTopic) -> PutTopic {
        settings.partitions = self.partitions.unwrap_or(settings.partitions);
        match self.key.as_deref() {
            None => {}
            Some("none") => settings.key = None,
            Some(program) => settings.key = Some(program.to_owned()),
        }
        match self.keep_for {
            None => {}
            Some(Keep::Everything) => settings.retention.age_ms = None,
            Some(Keep::UpTo(age)) => settings.retention.age_ms = Some(millis(age)),
        }
        match self.keep_bytes {
            None => {}
            Some(Keep::Everything) => settings.retention.size_bytes = None,
            Some(Keep::UpTo(bytes)) => settings.retention.size_bytes = Some(bytes),
        }
        match self.compaction {
            // Compaction that is on already keeps its grace period.
            Some(Switch::On) if settings.compaction.is_none() => {
                settings.compaction = Some(CompactionChoice::Simply(true))
            }
            None | Some(Switch::On) => {}
            Some(Switch::Off) => settings.compaction = None,
        }
        if let Some(min_age) = self.min_age {
            let usual = Compaction { tombstone_grace_ms: millis(TOMBSTONE_GRACE), min_age_ms: 0 };
            let compaction = settings.compaction.and_then(|choice| choice.settings(Some(usual)));
            settings.compaction =
                compaction.map(|on| CompactionChoice::With(Compaction { min_age_ms: millis(min_age), ..on }));
        }
        match self.snapshot {
            None => {}
            Some(Every::Never) => settings.snapshot = None,
            Some(Every::So(every)) => settings.snapshot = Some(SnapshotSettings { every_ms: millis(every) }),
        }
        match self.versions {
            None => {}
            Some(switch) => settings.versions = Some(switch == Switch::On),
        }
        match self.mask.as_slice() {
            [] => {}
            [none] if none == "none" => settings.mask = Some(Vec::new()),
            pointers => settings.mask = Some(pointers.to_vec()),
        }
        match self.index.as_slice() {
            [] => {}
            [none] if none == "none" => settings.index = Vec::new(),
            expressions => settings.index = expressions.to_vec(),
        }
        settings.max_attempts = self.max_attempts.or(settings.max_attempts);
        match self.dual_write {
            None => {}
            Some(DualWriteChoice::Off) => settings.dual_write = None,
            Some(DualWriteChoice::On(how)) => settings.dual_write = Some(how),
        }
        settings
    }
}

fn dual_write(text: &str) -> Result<DualWriteChoice, String> {
    match text {
        "on" => Ok(DualWriteChoice::On(DualWriteView { until: None })),
        "off" => Ok(DualWriteChoice::Off),
        time => match moment::parse(time) {
            Ok(until) => Ok(DualWriteChoice::On(DualWriteView { until: Some(until) })),
            Err(reason) => Err(format!("`{time}` is neither on nor off, and no time: {reason}")),
        },
    }
}

fn keep_for(text: &str) -> Result<Keep<Duration>, String> {
    match text {
        "forever" => Ok(Keep::Everything),
        text => parse_duration(text).map(Keep::UpTo),
    }
}

fn keep_bytes(text: &str) -> Result<Keep<u64>, String> {
    match text {
        "all" => Ok(Keep::Everything),
        text => parse_size(text).map(Keep::UpTo),
    }
}

fn snapshot_every(text: &str) -> Result<Every, String> {
    match text {
        "never" => Ok(Every::Never),
        text => parse_duration(text).map(Every::So),
    }
}

fn switch(text: &str) -> Result<Switch, String> {
    match text {
        "on" => Ok(Switch::On),
        "off" => Ok(Switch::Off),
        _ => Err(format!("`{text}` is neither on nor off")),
    }
}
