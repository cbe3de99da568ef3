//! `prom skip`: settles one event for a group that cannot get past it.

use clap::Args;
use prom_protocol::http::skip::{SkipEvent, SkippedEventView};
use prom_types::{EventId, GroupName, Offset, TopicName};

use super::names;
use crate::cli::Context;
use crate::exit::CommandResult;

/// Settle one event that a group cannot get past
#[derive(Debug, Args)]
#[command(after_help = "\
The group never gets the event again, and no dead letter is written. `prom why` shows the offset at which a group is \
stuck. system.audit records the caller.

Examples:
  prom skip orders.placed billing 1200
  prom skip orders.placed billing 1200 --partition 3
  prom skip orders.placed billing 0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f")]
pub struct Skip {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// The group
    #[arg(value_parser = names::group)]
    group: GroupName,
    /// Offset or id of the event
    #[arg(value_name = "OFFSET|ID", value_parser = event)]
    event: EventArgument,
    /// Partition of the offset, if the topic has several
    #[arg(long, value_name = "N")]
    partition: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
pub enum EventArgument {
    Offset(Offset),
    Id(EventId),
}

pub fn event(text: &str) -> Result<EventArgument, String> {
    match (text.parse(), EventId::parse(text)) {
        (Ok(offset), _) => Ok(EventArgument::Offset(offset)),
        (_, Ok(id)) => Ok(EventArgument::Id(id)),
        (Err(_), Err(_)) => Err("an offset is a number, an id is a UUID".to_owned()),
    }
}

impl Skip {
    pub async fn run(self, context: &Context) -> CommandResult {
        let (offset, id) = match self.event {
            EventArgument::Offset(offset) => (Some(offset), None),
            EventArgument::Id(id) => (None, Some(id)),
        };
        let request = SkipEvent { topic: self.topic, group: self.group, partition: self.partition, offset, id };
        let answer = context.hub()?.post(&["skip"], &request).await?;
        context.show(&answer, |event: SkippedEventView| {
            let SkippedEventView { topic, group, partition, offset, already_settled, .. } = event;
            let done = if already_settled { "had settled" } else { "skips" };
            context.output.line(format!("{group} {done} offset {offset} of {topic}, partition {partition}"))
        })
    }
}
