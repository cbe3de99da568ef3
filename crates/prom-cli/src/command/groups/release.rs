//! `prom groups release`: takes leases back from a holder that does not come to an end.

use clap::Args;
use prom_protocol::http::release::{ReleaseLeases, ReleasedLeasesView};
use prom_types::{GroupName, TopicName};

use crate::cli::Context;
use crate::command::names;
use crate::command::skip::{EventArgument, event};
use crate::exit::{CommandResult, Failure};

/// Take events back from their holders; they are redelivered at once
#[derive(Debug, Args)]
#[command(after_help = "\
A release counts as a return, not as a failed attempt. Later acks and nacks of the old holder are ignored. Without \
an event or --member, all events of the topic that the group holds are released. `prom why` shows which events are \
held, by which member and for how long. system.audit records the caller.

Examples:
  prom groups release orders.placed billing 1200
  prom groups release orders.placed billing 1200 --partition 3
  prom groups release orders.placed billing --member worker-3
  prom groups release orders.placed billing")]
pub struct ReleaseCommand {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// The group
    #[arg(value_parser = names::group)]
    group: GroupName,
    /// Offset or id of the event
    #[arg(value_name = "OFFSET|ID", value_parser = event)]
    event: Option<EventArgument>,
    /// Partition of the offset, if the topic has several
    #[arg(long, value_name = "N")]
    partition: Option<u32>,
    /// Everything that this member holds
    #[arg(long, value_name = "MEMBER", conflicts_with = "event")]
    member: Option<String>,
}

impl ReleaseCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let (offset, id) = match self.event {
            Some(EventArgument::Offset(offset)) => (Some(offset), None),
            Some(EventArgument::Id(id)) => (None, Some(id)),
            None => (None, None),
        };
        let request = ReleaseLeases { topic: self.topic, partition: self.partition, offset, id, member: self.member };
        let answer = context.hub()?.post(&["groups", self.group.as_str(), "release"], &request).await?;
        let released: ReleasedLeasesView = answer.parse()?;
        context.show(&answer, |ReleasedLeasesView { topic, group, released }| {
            released.iter().try_for_each(|lease| {
                let holder = lease.member.as_deref().unwrap_or("its holder");
                let place = format!("offset {} of {topic}, partition {}", lease.offset, lease.partition);
                context.output.line(format!("{group}: {place}, is taken back from {holder}"))
            })
        })?;
        if released.released.is_empty() {
            return Err(Failure::no("nothing was taken back: no such lease is held now"));
        }
        Ok(())
    }
}
