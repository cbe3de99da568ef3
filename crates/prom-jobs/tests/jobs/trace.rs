//! A trace is a tree that its readers can take in, however long the chain is.

use prom_engine::{Bus, LetterRef, Position, StandingState};
use prom_jobs::{Trace, TraceNode, TraceRights, Tracer};
use prom_types::{EventId, GroupName, TopicName};
use serde_json::json;

use super::bus;

/// Levels that serde_json reads, and many readers with it.
const READABLE_LEVELS: usize = 128;

struct Everything;

impl TraceRights for Everything {
    fn may_read(&self, _: &TopicName) -> bool {
        true
    }

    fn may_see(&self, _: &TopicName, _: &GroupName) -> bool {
        true
    }

    fn may_see_whole(&self, _: &TopicName) -> bool {
        true
    }
}

async fn chain(bus: &Bus, events: usize) -> Vec<EventId> {
    let mut ids: Vec<EventId> = Vec::new();
    for n in 0..events {
        let event = bus.publish("steps", json!(n));
        let event = match ids.last() {
            Some(cause) => event.caused_by(*cause),
            None => event,
        };
        ids.push(event.await.unwrap().id);
    }
    ids
}

fn depth(node: &TraceNode, children: impl Fn(&TraceNode) -> &[TraceNode] + Copy) -> usize {
    1 + children(node).iter().map(|child| depth(child, children)).max().unwrap_or(0)
}

#[tokio::test]
async fn a_long_chain_is_cut_where_readers_of_json_would_give_up_and_goes_on_from_its_last_event() {
    let bus = bus().await;
    let ids = chain(&bus, 300).await;
    let tracer = Tracer::new();
    let trace = async |id: EventId| -> Trace { tracer.trace(&bus, id, None, &Everything).await.unwrap().unwrap() };
    let middle = trace(ids[150]).await;
    assert!(middle.is_cut);
    let (above, below) = (depth(&middle.root, |node| &node.causes), depth(&middle.root, |node| &node.effects));
    for depth in [above, below] {
        // A list and an object each; the answer around the tree, and what a node has itself.
        assert!((40..=(READABLE_LEVELS - 8) / 2).contains(&depth), "{depth} levels");
    }
    let mut last = &middle.root;
    while let Some(next) = last.effects.first() {
        last = next;
    }
    assert_eq!(last.id, ids[150 + below - 1]);
    assert_eq!(trace(last.id).await.root.effects[0].id, ids[150 + below], "goes on there");
}

#[tokio::test]
async fn an_event_that_was_given_back_is_where_it_is_now_and_not_where_its_letter_left_it() {
    let bus = bus().await;
    let id = bus.publish("orders", json!(1)).await.unwrap().id;
    let mut orders = bus.subscribe("orders", "billing").from(Position::Earliest).max_attempts(1).start().await.unwrap();
    let tracer = Tracer::new();
    let state = async || {
        let trace = tracer.trace(&bus, id, None, &Everything).await.unwrap().unwrap();
        let deliveries = trace.root.event.unwrap().deliveries;
        (deliveries[0].standing.state, deliveries[0].letter.as_ref().map(|letter| letter.attempts))
    };
    orders.next().await.unwrap().nack("smtp is down").await.unwrap();
    let letter = loop {
        match bus.read("dlq.orders", 0, 0, 1).await {
            Ok(page) if !page.events.is_empty() => break LetterRef::of(&page.events[0]).unwrap(),
            _ => tokio::task::yield_now().await,
        }
    };
    assert_eq!(state().await, (StandingState::Dead, Some(1)));
    orders.pause().await;
    bus.give_back("orders", &[letter]).await.unwrap();
    assert_eq!(state().await, (StandingState::Queued, Some(1)));
    orders.resume().await;
    let again = orders.next().await.unwrap();
    assert_eq!(state().await, (StandingState::InFlight, Some(1)));
    again.ack().await.unwrap();
    assert_eq!(state().await, (StandingState::Settled, Some(1)));
}
