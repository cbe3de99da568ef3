//! `prom topics`: what topics there are, what is in them, and their settings.

mod set;

use clap::{Args, Subcommand};
use prom_types::{Offset, TopicName};
use serde::{Deserialize, Serialize};

use self::set::Set;
use super::names;
use crate::cli::Context;
use crate::exit::Outcome;
use crate::output::{Align, Table};
use crate::units::{show_duration, show_size};

/// List topics, look at one, or change its settings
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom topics
  prom topics show orders.placed
  prom topics set orders.placed --partitions 4 --keep-for 30d")]
pub struct Topics {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List all topics
    #[command(after_help = "\
Examples:
  prom topics ls
  prom topics ls --json")]
    Ls,
    /// Show one topic, partition by partition
    #[command(after_help = "\
Examples:
  prom topics show orders.placed
  prom topics show orders.placed --json")]
    Show {
        /// Its name
        #[arg(value_parser = names::topic)]
        topic: TopicName,
    },
    Set(Set),
}

#[derive(Debug, Deserialize)]
struct TopicList {
    topics: Vec<Topic>,
}

#[derive(Debug, Deserialize)]
struct Topic {
    topic: String,
    settings: Settings,
    partitions: Vec<Partition>,
    events: u64,
    bytes: u64,
    events_per_s: Option<f64>,
}

/// As the hub takes and gives them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
struct Settings {
    partitions: u32,
    #[serde(default)]
    key: Option<String>,
    retention: Retention,
    compaction: Option<Compaction>,
    max_attempts: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
struct Retention {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    age_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
enum Compaction {
    /// The hub knows how.
    Simply(bool),
    With {
        tombstone_grace_ms: u64,
    },
}

#[derive(Debug, Deserialize)]
struct Partition {
    partition: u32,
    start: Offset,
    head: Offset,
    bytes: u64,
}

impl Topics {
    pub async fn run(self, context: &Context) -> Outcome {
        match self.what.unwrap_or(What::Ls) {
            What::Ls => list(context).await,
            What::Show { topic } => show(context, &topic).await,
            What::Set(set) => set.run(context).await,
        }
    }
}

async fn list(context: &Context) -> Outcome {
    let answer = context.hub()?.get(&["topics"], &[]).await?;
    if context.output.is_for_machines() {
        return context.output.line(answer.text.trim_end());
    }
    let mut table = Table::new([
        ("TOPIC", Align::Left),
        ("PARTITIONS", Align::Right),
        ("EVENTS", Align::Right),
        ("SIZE", Align::Right),
        ("PER SECOND", Align::Right),
        ("KEPT", Align::Left),
    ]);
    for topic in answer.parse::<TopicList>()?.topics {
        table.row([
            topic.topic,
            topic.settings.partitions.to_string(),
            topic.events.to_string(),
            show_size(topic.bytes),
            topic.events_per_s.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}")),
            kept(&topic.settings),
        ]);
    }
    match table.is_empty() {
        true => context.output.line("no topics yet; `prom pub hello '{\"n\":1}'` makes one"),
        false => context.output.table(&table),
    }
}

async fn show(context: &Context, topic: &TopicName) -> Outcome {
    let answer = context.hub()?.get(&["topics", topic], &[]).await?;
    if context.output.is_for_machines() {
        return context.output.line(answer.text.trim_end());
    }
    let topic: Topic = answer.parse()?;
    let style = context.output.style;
    context.output.line(format!("{}: {}", style.bold(&topic.topic), describe(&topic.settings)))?;
    let mut table = Table::new([
        ("PARTITION", Align::Right),
        ("START", Align::Right),
        ("END", Align::Right),
        ("SIZE", Align::Right),
    ]);
    for Partition { partition, start, head, bytes } in topic.partitions {
        table.row([partition.to_string(), start.to_string(), head.to_string(), show_size(bytes)]);
    }
    context.output.table(&table)
}

fn describe(settings: &Settings) -> String {
    let attempts = match settings.max_attempts {
        Some(attempts) => format!("{attempts} attempts unless the group says otherwise"),
        None => "attempts as the group says".to_owned(),
    };
    let partitions = match settings.partitions {
        1 => "1 partition".to_owned(),
        many => format!("{many} partitions"),
    };
    format!("{partitions}, kept {}, {attempts}", kept(settings))
}

fn kept(settings: &Settings) -> String {
    let Retention { age_ms, size_bytes } = settings.retention;
    let age = age_ms.map(|ms| format!("for {}", show_duration(std::time::Duration::from_millis(ms))));
    let size = size_bytes.map(|bytes| format!("up to {} per partition", show_size(bytes)));
    let latest = match settings.compaction {
        None | Some(Compaction::Simply(false)) => None,
        Some(_) => Some("latest of each key".to_owned()),
    };
    let limits: Vec<String> = [latest, age, size].into_iter().flatten().collect();
    match limits.is_empty() {
        true => "for ever".to_owned(),
        false => limits.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_put_into_words() {
        let text = r#"{"partitions":4,"retention":{"age_ms":259200000,"size_bytes":10000000000},
            "compaction":{"tombstone_grace_ms":1},"max_attempts":3}"#;
        let settings: Settings = serde_json::from_str(text).unwrap();
        insta::assert_snapshot!(describe(&settings), @"4 partitions, kept latest of each key, for 3d, up to 10.0 GB per partition, 3 attempts unless the group says otherwise");
        let plain = r#"{"partitions":1,"retention":{},"compaction":null,"max_attempts":null}"#;
        insta::assert_snapshot!(describe(&serde_json::from_str(plain).unwrap()), @"1 partition, kept for ever, attempts as the group says");
    }
}
