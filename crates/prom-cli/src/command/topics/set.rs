//! `prom topics set`: makes a topic or changes its settings. The hub takes all settings at once, so the present ones are
//! read first.

use std::time::Duration;

use clap::Args;
use prom_protocol::http::topics::{CompactionChoice, PutTopic, TopicView};
use prom_types::TopicName;

use super::describe;
use crate::cli::Context;
use crate::command::names;
use crate::exit::{CommandResult, Failure};
use crate::units::{millis, parse_duration, parse_size};

/// Make a topic, or change one; settings that are not given stay
#[derive(Debug, Args)]
#[command(after_help = "\
Partitions can be raised, not lowered; keys then move to other partitions, so events of a key from before and
after may be handled at the same time. A topic with events cannot become compacted.

Examples:
  prom topics set orders.placed --partitions 4 --keep-for 30d --keep-bytes 10GB
  prom topics set process.state --compaction on")]
pub struct SetTopic {
    /// Name of the topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// Number of partitions; events of one key stay in one partition and in order
    #[arg(long, value_name = "N")]
    partitions: Option<u32>,
    /// A jq program that makes the key of events without one, such as `.payload.processId`, or `none`
    #[arg(long, value_name = "PROGRAM")]
    key: Option<String>,
    /// How long events stay, such as 30d, or `forever`
    #[arg(long, value_name = "DURATION", value_parser = keep_for)]
    keep_for: Option<Keep<Duration>>,
    /// How many bytes of events stay per partition, such as 10GB, or `all`
    #[arg(long, value_name = "SIZE", value_parser = keep_bytes)]
    keep_bytes: Option<Keep<u64>>,
    /// Keep only the latest event of each key: on or off
    #[arg(long, value_name = "SWITCH", value_parser = switch)]
    compaction: Option<Switch>,
    /// Failed attempts before an event goes to the dead letters
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep<T> {
    Everything,
    UpTo(T),
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
        settings.max_attempts = self.max_attempts.or(settings.max_attempts);
        settings
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

fn switch(text: &str) -> Result<Switch, String> {
    match text {
        "on" => Ok(Switch::On),
        "off" => Ok(Switch::Off),
        _ => Err(format!("`{text}` is neither on nor off")),
    }
}
