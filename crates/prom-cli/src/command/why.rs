//! `prom why`: what holds a group back, and what to do about it.

use clap::Args;
use prom_types::{GroupName, TopicName};
use serde::Deserialize;

use super::names;
use crate::cli::Context;
use crate::exit::Outcome;
use crate::output::printable;

/// Say what holds a group back
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom why orders.placed billing
  prom why orders.placed billing --json")]
pub struct Why {
    /// What the group reads
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// Who is held back
    #[arg(value_parser = names::group)]
    group: GroupName,
}

#[derive(Debug, Deserialize)]
struct Answered {
    partitions: Vec<Partition>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Partition {
    partition: u32,
    lag_events: u64,
    explanation: String,
}

impl Why {
    pub async fn run(self, context: &Context) -> Outcome {
        let query = [("topic", Some(self.topic.to_string())), ("group", Some(self.group.to_string()))];
        let answer = context.hub()?.get(&["why"], &query).await?;
        if context.output.is_for_machines() {
            return context.output.line(answer.text.trim_end());
        }
        let partitions = answer.parse::<Answered>()?.partitions;
        let style = context.output.style;
        for Partition { partition, lag_events, explanation } in &partitions {
            let head = match partitions.len() {
                1 => format!("{} in {}", self.group, self.topic),
                _ => format!("{} in {}, partition {partition}", self.group, self.topic),
            };
            let behind = match lag_events {
                0 => "up to date".to_owned(),
                1 => "1 event behind".to_owned(),
                events => format!("{events} events behind"),
            };
            context.output.line(format!("{}: {behind}", style.bold(&head)))?;
            if *lag_events > 0 {
                context.output.line(format!("  {}", printable(explanation)))?;
            }
        }
        Ok(())
    }
}
