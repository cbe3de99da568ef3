//! `prom trace`: what led to an event, what it led to, and how groups did with it.

use clap::Args;
use prom_protocol::http::trace::{
    TraceAnswer, TraceDeliveryView, TraceEventView, TraceLetterView, TraceNodeView, TraceQuery, TraceState,
};
use prom_types::TopicName;

use super::names;
use crate::cli::Context;
use crate::exit::CommandResult;
use crate::output::{counted, note, printable};

/// Show the causes and effects of an event as a tree
#[derive(Debug, Args)]
#[command(after_help = "\
Causes are shown above the event, effects below it, as far as the token may read them. The state of each event in \
its groups needs the right ops. Failed attempts are known only until an event is settled.

Examples:
  prom trace 0199c0de-0000-7000-8000-000000000001
  prom trace 0199c0de-0000-7000-8000-000000000001 --topic orders.placed
  prom search orders.placed --key 4711 --limit 1 | jq -r .id | xargs prom trace")]
pub struct Trace {
    /// Id of the event
    id: String,
    /// Its topic, if you know it; only that topic is searched
    #[arg(long, value_name = "TOPIC", value_parser = names::topic)]
    topic: Option<TopicName>,
}

impl Trace {
    pub async fn run(self, context: &Context) -> CommandResult {
        let answer = context.hub()?.get(&["trace", &self.id], &TraceQuery { topic: self.topic }).await?;
        let told = answer.parse::<TraceAnswer>()?;
        context.show(&answer, |TraceAnswer { trace, .. }| {
            let mut lines = Vec::new();
            if !trace.causes.is_empty() {
                lines.push("caused by".to_owned());
                draw_all(&trace.causes, "", Side::Causes, &mut lines);
                lines.push(String::new());
            }
            lines.push(context.output.style.bold(&headline(&trace)));
            draw_below(&trace, "", Side::Effects, &mut lines);
            lines.iter().try_for_each(|line| context.output.line(line))
        })?;
        if told.behind > 0 {
            note(format!("{} not indexed yet; effects among them are missing", counted(told.behind, "event")));
        }
        if told.cut {
            note("the tree was cut: not all events are shown; trace one of its last events to see more");
        }
        if told.hidden {
            note("some events are hidden: this token may not see them");
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Causes,
    Effects,
}

fn headline(node: &TraceNodeView) -> String {
    let id = node.id;
    match &node.event {
        None if node.repeated => format!("{id}, as above"),
        None => format!("{id}, which is gone or not yours to read"),
        Some(TraceEventView { topic, partition, offset, retained, key, .. }) => {
            let key = key.as_ref().map_or_else(String::new, |key| format!(", key {}", printable(key)));
            let gone = if *retained { "" } else { ", not retained any more" };
            format!("{topic}/{partition} offset {offset}, {id}{key}{gone}")
        }
    }
}

/// Children with the lines of a tree before them.
fn draw_all(nodes: &[TraceNodeView], before: &str, side: Side, lines: &mut Vec<String>) {
    for (at, node) in nodes.iter().enumerate() {
        let (branch, below) = if at + 1 == nodes.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        lines.push(format!("{before}{branch}{}", headline(node)));
        draw_below(node, &format!("{before}{below}"), side, lines);
    }
}

fn draw_below(node: &TraceNodeView, before: &str, side: Side, lines: &mut Vec<String>) {
    let deliveries = node.event.iter().flat_map(|event| &event.deliveries);
    for delivery in deliveries {
        lines.push(format!("{before}{}", told(delivery)));
        if let Some(TraceLetterView { id, topic, partition, offset, replayed, .. }) = &delivery.letter {
            lines.push(format!("{before}  letter {topic}/{partition} offset {offset}, {id}"));
            if !replayed.is_empty() {
                lines.push(format!("{before}  replayed as"));
                draw_all(replayed, &format!("{before}  "), side, lines);
            }
        }
    }
    match side {
        Side::Causes => draw_all(&node.causes, before, side, lines),
        Side::Effects => draw_all(&node.effects, before, side, lines),
    }
}

fn told(delivery: &TraceDeliveryView) -> String {
    let TraceDeliveryView { group, state, attempts, reason, member, served_by, letter, .. } = delivery;
    let mut text = format!("{group}: ");
    if letter.is_some() && *state != TraceState::Dead {
        text.push_str("given up, given back, ");
    }
    text.push_str(match state {
        TraceState::Settled => "settled",
        TraceState::InFlight => "in flight",
        TraceState::Waiting => "failed, and tried again",
        TraceState::Queued => "to be handed out",
        TraceState::Dead => "given up",
    });
    if let Some(member) = member {
        text.push_str(&format!(" with {}", printable(member)));
    }
    let attempts = letter.as_ref().map_or(*attempts, |letter| letter.attempts);
    if attempts > 0 {
        text.push_str(&format!(", {} failed", counted(attempts.into(), "attempt")));
    }
    let reason = letter.as_ref().and_then(|letter| letter.err.as_ref()).or(reason.as_ref());
    if let Some(reason) = reason {
        text.push_str(&format!(": {}", printable(reason)));
    }
    if let Some(url) = served_by {
        text.push_str(&format!(" (served by {url}, which knows what is in flight)"));
    }
    text
}
