//! `prom topics`: what topics there are, what is in them, and their settings.

mod delete;
mod set;

use clap::{Args, Subcommand};
use prom_protocol::http::topics::{DualWriteView, TopicList, TopicPartitionView, TopicSettingsView, TopicView};
use prom_types::{Retention, TopicName};

use self::delete::DeleteTopicCommand;
use self::set::SetTopic;
use super::{names, partly};
use crate::cli::Context;
use crate::exit::CommandResult;
use crate::moment;
use crate::output::{Align, Table};
use crate::units::{show_duration, show_size};

/// List, show, create, change and delete topics
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom topics
  prom topics show orders.placed
  prom topics set orders.placed --partitions 4 --keep-for 30d
  prom topics delete orders.test")]
pub struct TopicsCommand {
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
        /// Name of the topic
        #[arg(value_parser = names::topic)]
        topic: TopicName,
    },
    Set(SetTopic),
    Delete(DeleteTopicCommand),
}

impl TopicsCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        match self.what.unwrap_or(What::Ls) {
            What::Ls => list(context).await,
            What::Show { topic } => show(context, &topic).await,
            What::Set(set) => set.run(context).await,
            What::Delete(delete) => delete.run(context).await,
        }
    }
}

async fn list(context: &Context) -> CommandResult {
    let answer = context.hub()?.get(&["topics"], &()).await?;
    let list: TopicList = answer.parse()?;
    if list.hidden {
        partly::shown("topics", list.topics.len())?;
    }
    context.show(&answer, |list: TopicList| show_list(context, list.topics))
}

async fn show(context: &Context, topic: &TopicName) -> CommandResult {
    let answer = context.hub()?.get(&["topics", topic], &()).await?;
    context.show(&answer, |topic| show_one(context, &topic))
}

fn show_list(context: &Context, topics: Vec<TopicView>) -> CommandResult {
    let mut table = Table::new([
        ("TOPIC", Align::Left),
        ("PARTITIONS", Align::Right),
        ("EVENTS", Align::Right),
        ("SIZE", Align::Right),
        ("PER SECOND", Align::Right),
        ("SCHEMA", Align::Left),
        ("KEPT", Align::Left),
    ]);
    for topic in topics {
        table.row([
            topic.topic.to_string(),
            topic.settings.partitions.to_string(),
            topic.events.to_string(),
            show_size(topic.bytes),
            topic.events_per_s.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}")),
            topic.schema_version.map_or_else(String::new, |version| format!("v{version}")),
            kept(&topic.settings),
        ]);
    }
    if table.is_empty() {
        return context.output.line("no topics yet; `prom pub hello '{\"n\":1}'` creates one");
    }
    context.output.table(&table.without_if_empty("SCHEMA"))
}

fn show_one(context: &Context, topic: &TopicView) -> CommandResult {
    let name = context.output.style.bold(&topic.topic);
    let schema = topic.schema_version.map_or_else(String::new, |version| format!(", schema version {version}"));
    context.output.line(format!("{name}: {}{schema}", describe(&topic.settings)))?;
    let mut table = Table::new([
        ("PARTITION", Align::Right),
        ("START", Align::Right),
        ("END", Align::Right),
        ("SIZE", Align::Right),
    ]);
    for TopicPartitionView { partition, start, head, bytes } in &topic.partitions {
        table.row([partition.to_string(), start.to_string(), head.to_string(), show_size(*bytes)]);
    }
    context.output.table(&table)
}

fn describe(settings: &TopicSettingsView) -> String {
    let attempts = match settings.max_attempts {
        Some(attempts) => format!("{attempts} attempts unless the group says otherwise"),
        None => "attempts set by the group".to_owned(),
    };
    let partitions = match settings.partitions {
        1 => "1 partition".to_owned(),
        many => format!("{many} partitions"),
    };
    let key = settings.key.as_ref().map_or_else(String::new, |program| format!(", key {program}"));
    let keeps = if settings.compaction.is_some() { "keeps the" } else { "kept" };
    let twice = match settings.dual_write {
        None => String::new(),
        Some(DualWriteView { until: None }) => ", also written to the topic of each version".to_owned(),
        Some(DualWriteView { until: Some(until) }) => {
            format!(", also written to the topic of each version until {}", moment::show(until))
        }
    };
    let versions = if settings.versions { ", with the newest offset of each key" } else { "" };
    let snapshot = settings.snapshot.map_or_else(String::new, |snapshot| {
        format!(", a snapshot every {}", show_duration(std::time::Duration::from_millis(snapshot.every_ms)))
    });
    let mask = match settings.mask.as_slice() {
        [] => String::new(),
        pointers => format!(", hides {} from all but administrators", pointers.join(" ")),
    };
    let index = match settings.index.as_slice() {
        [] => String::new(),
        expressions => format!(", indexed by {}", expressions.join(" and ")),
    };
    format!("{partitions}{key}, {keeps} {}{versions}, {attempts}{twice}{snapshot}{mask}{index}", kept(settings))
}

fn kept(settings: &TopicSettingsView) -> String {
    let Retention { age_ms, size_bytes } = settings.retention;
    let age = age_ms.map(|ms| format!("for {}", show_duration(std::time::Duration::from_millis(ms))));
    let size = size_bytes.map(|bytes| format!("up to {} per partition", show_size(bytes)));
    let latest = settings.compaction.map(|_| "latest event of each key".to_owned());
    let limits: Vec<String> = [latest, age, size].into_iter().flatten().collect();
    if limits.is_empty() { "forever".to_owned() } else { limits.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_put_into_words() {
        let text = r#"{"partitions":4,"retention":{"age_ms":259200000,"size_bytes":10000000000},
            "compaction":{"tombstone_grace_ms":1},"snapshot":{"every_ms":30000},"max_attempts":3}"#;
        let settings: TopicSettingsView = serde_json::from_str(text).unwrap();
        insta::assert_snapshot!(describe(&settings), @"4 partitions, keeps the latest event of each key, for 3d, up to 10.0 GB per partition, 3 attempts unless the group says otherwise, a snapshot every 30s");
        let plain = r#"{"partitions":1,"retention":{},"compaction":null,"max_attempts":null}"#;
        insta::assert_snapshot!(describe(&serde_json::from_str(plain).unwrap()), @"1 partition, kept forever, attempts set by the group");
    }
}
