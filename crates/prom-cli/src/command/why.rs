//! `prom why`: what holds a group back, and what to do about it.

use clap::Args;
use prom_protocol::http::GroupInTopic;
use prom_protocol::http::why::{HeldLeaseView, PartitionWhyView, WhyActionView, WhyView};
use prom_types::{GroupName, TopicName};

use super::names;
use crate::cli::Context;
use crate::exit::CommandResult;
use crate::output::printable;
use crate::units::show_age;

/// Explain what holds a group back
#[derive(Debug, Args)]
#[command(after_help = "\
A slow member keeps renewing its lease; a stuck one does not. The commands that help are listed, ready to copy.

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

/// One line for a lease: who holds what, for how long, and whether it is still being worked on.
fn describe(lease: &HeldLeaseView) -> String {
    let mut text = format!("offset {}", lease.offset);
    if let Some(key) = &lease.key {
        text.push_str(&format!(", key {}", printable(key)));
    }
    text.push_str(&format!(": held by {} for {}", printable(&lease.member), show_age(lease.held_ms)));
    let known = [lease.subject.as_deref(), lease.address.as_deref()];
    let known: Vec<_> = known.into_iter().flatten().map(printable).collect();
    if !known.is_empty() {
        text.push_str(&format!(" ({})", known.join(", ")));
    }
    text.push_str(&match lease.renewals {
        0 => ", never renewed".to_owned(),
        1 => ", renewed once".to_owned(),
        many => format!(", renewed {many} times"),
    });
    if lease.attempts > 0 {
        text.push_str(&format!(", {} failed before", lease.attempts));
    }
    text
}

fn show(context: &Context, WhyView { topic, group, dead_letters, partitions }: &WhyView) -> CommandResult {
    for PartitionWhyView { partition, lag_events, explanation, held, actions, parked_keys, .. } in partitions {
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
        if *lag_events > 0 || *parked_keys > 0 {
            context.output.line(format!("  {}", printable(explanation)))?;
            held.iter().try_for_each(|lease| context.output.line(format!("    {}", describe(lease))))?;
            for WhyActionView { what, command } in actions {
                context.output.line(format!("  {}   # {}", printable(command), printable(what)))?;
            }
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
