//! `prom why`: what holds a group back, and what to do about it.

use clap::Args;
use prom_protocol::http::GroupInTopic;
use prom_protocol::http::why::{PartitionWhyView, WhyView};
use prom_types::{GroupName, TopicName};

use super::names;
use crate::cli::Context;
use crate::exit::CommandResult;
use crate::output::printable;

/// Explain what holds a group back
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom why orders.placed billing
  prom why orders.placed billing --json")]
pub struct Why {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// The group
    #[arg(value_parser = names::group)]
    group: GroupName,
}

impl Why {
    pub async fn run(self, context: &Context) -> CommandResult {
        let query = GroupInTopic { topic: self.topic, group: self.group };
        let answer = context.hub()?.get(&["why"], &query).await?;
        context.show(&answer, |why| show(context, &why))
    }
}

fn show(context: &Context, WhyView { topic, group, dead_letters, partitions }: &WhyView) -> CommandResult {
    for PartitionWhyView { partition, lag_events, explanation, .. } in partitions {
        let head = match partitions.len() {
            1 => format!("{group} in {topic}"),
            _ => format!("{group} in {topic}, partition {partition}"),
        };
        let behind = match lag_events {
            0 => "up to date".to_owned(),
            1 => "1 event behind".to_owned(),
            events => format!("{events} events behind"),
        };
        context.output.line(format!("{}: {behind}", context.output.style.bold(&head)))?;
        if *lag_events > 0 {
            context.output.line(format!("  {}", printable(explanation)))?;
        }
    }
    let letters = match dead_letters {
        0 => return Ok(()),
        1 => "1 dead letter".to_owned(),
        many => format!("{many} dead letters"),
    };
    let show = format!("`prom sub dlq.{topic} --from earliest` shows them");
    context.output.line(format!("  dlq.{topic} holds {letters}, of all groups of {topic}; {show}"))
}
