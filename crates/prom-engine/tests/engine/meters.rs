//! Every step of an event moves the meters it should, and no others.

use std::time::Duration;

use prom_engine::{Bus, Error, GroupMeters, Position, TopicSettings, ack_all};
use prom_store::HistogramSnapshot;
use prom_types::{EventId, NewEvent, TopicName};
use serde_json::json;
use tokio::time::advance;

use crate::faults::Stubborn;
use crate::support::{bus, next, publish_numbers, soon, stays_silent, until};

/// The counts of a group, to be compared whole.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    delivered: u64,
    redelivered: u64,
    in_flight: u64,
    acked: u64,
    nacked: u64,
    dead_lettered: u64,
}

fn published(bus: &Bus, topic: &str) -> Option<u64> {
    bus.meters().topics.into_iter().find(|meters| meters.topic.as_str() == topic).map(|meters| meters.published)
}

fn group(bus: &Bus, topic: &str) -> GroupMeters {
    find_group(bus, topic).expect("it is metered")
}

fn find_group(bus: &Bus, topic: &str) -> Option<GroupMeters> {
    let mut groups = bus.meters().groups.into_iter();
    groups.find(|meters| (meters.topic.as_str(), meters.group.as_str()) == (topic, "g"))
}

/// Nothing is metered before the group gets its first event.
fn counts(bus: &Bus, topic: &str) -> Counts {
    let Some(meters) = find_group(bus, topic) else {
        return Counts::default();
    };
    let GroupMeters { delivered, redelivered, in_flight, acked, nacked, dead_lettered, .. } = meters;
    Counts { delivered, redelivered, in_flight, acked, nacked, dead_lettered }
}

fn sum_and_count(histogram: &HistogramSnapshot) -> (f64, u64) {
    (histogram.sum, histogram.count)
}

#[tokio::test]
async fn what_is_published_is_counted_by_topic_once_it_is_stored() {
    let bus = bus().await;
    assert_eq!(bus.meters().topics, []);
    publish_numbers(&bus, "a", 0..3).await;
    let event = |topic| NewEvent::new(TopicName::parse(topic).unwrap(), json!(1));
    bus.publish_batch(vec![event("a"), event("b"), event("a")]).await.unwrap();
    assert_eq!((published(&bus, "a"), published(&bus, "b")), (Some(5), Some(1)));
    bus.create_topic(TopicSettings::new("a").unwrap().max_attempts(9)).await.unwrap();
    assert_eq!(published(&bus, "a"), Some(5), "other settings, the same topic");
    let names: Vec<_> = bus.meters().topics.iter().map(|meters| meters.topic.to_string()).collect();
    assert_eq!(names, ["a", "b", "system.audit"]);
}

#[tokio::test]
async fn a_publish_that_stores_nothing_is_not_counted() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    let id = EventId::derived("one");
    for _ in 0..2 {
        bus.publish("a", json!(1)).id(id).await.unwrap();
        let mut again = NewEvent::new(TopicName::parse("a").unwrap(), json!(1));
        again.id = Some(id);
        bus.publish_batch(vec![again]).await.unwrap();
    }
    assert!(bus.publish("a", json!(1)).partition(7).await.is_err());
    store.set(|faults| faults.refuse_appends = true);
    assert!(bus.publish("a", json!(1)).await.is_err());
    assert!(bus.publish("b", json!(1)).await.is_err());
    assert_eq!((published(&bus, "a"), published(&bus, "b")), (Some(1), None));
}

#[tokio::test(start_paused = true)]
async fn a_delivery_counts_when_it_is_taken() {
    let bus = bus().await;
    publish_numbers(&bus, "a", 0..3).await;
    advance(Duration::from_millis(40)).await;
    let mut events = bus.subscribe("a", "g").from(Position::Earliest).start().await.unwrap();
    until(async || bus.meters().groups.iter().any(|meters| meters.in_flight == 3)).await;
    assert_eq!(counts(&bus, "a"), Counts { in_flight: 3, ..Counts::default() });
    let waited = bus.clock().monotonic().as_secs_f64() * 1000.0;
    let _first = next(&mut events).await;
    assert_eq!(counts(&bus, "a"), Counts { delivered: 1, in_flight: 3, ..Counts::default() });
    let latency = group(&bus, "a").latency_ms;
    assert_eq!(latency.count, 1);
    assert!((latency.sum - waited.floor()).abs() <= 1.0, "{} of {waited}", latency.sum);
    assert_eq!(soon(events.next_batch()).await.len(), 2);
    assert_eq!(counts(&bus, "a"), Counts { delivered: 3, in_flight: 3, ..Counts::default() });
    assert_eq!(group(&bus, "a").latency_ms.count, 3);
}

#[tokio::test(start_paused = true)]
async fn an_ack_counts_once_and_tells_how_long_the_event_was_held() {
    let bus = bus().await;
    publish_numbers(&bus, "a", 0..3).await;
    let mut events = bus.subscribe("a", "g").from(Position::Earliest).start().await.unwrap();
    let first = next(&mut events).await;
    advance(Duration::from_millis(70)).await;
    soon(first.ack()).await.unwrap();
    let once = Counts { delivered: 1, in_flight: 2, acked: 1, ..Counts::default() };
    assert_eq!(counts(&bus, "a"), once);
    assert_eq!(sum_and_count(&group(&bus, "a").handler_ms), (70.0, 1));
    soon(first.ack()).await.unwrap();
    soon(first.nack("too late")).await.unwrap();
    assert_eq!(counts(&bus, "a"), once, "it was settled before");

    advance(Duration::from_millis(30)).await;
    let rest = soon(events.next_batch()).await;
    soon(ack_all(rest)).await.unwrap();
    assert_eq!(counts(&bus, "a"), Counts { delivered: 3, acked: 3, ..Counts::default() });
    assert_eq!(sum_and_count(&group(&bus, "a").handler_ms), (270.0, 3), "what waits to be taken is held too");
}

#[tokio::test(start_paused = true)]
async fn extending_a_lease_does_not_restart_its_time() {
    let bus = bus().await;
    publish_numbers(&bus, "a", 0..1).await;
    let group_of = bus.subscribe("a", "g").from(Position::Earliest).ack_timeout(Duration::from_secs(1));
    let mut events = group_of.start().await.unwrap();
    let held = next(&mut events).await;
    for _ in 0..10 {
        advance(Duration::from_millis(500)).await;
        soon(held.modack(Duration::from_secs(7))).await.unwrap();
    }
    soon(held.ack()).await.unwrap();
    assert_eq!(sum_and_count(&group(&bus, "a").handler_ms), (5000.0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_nack_and_the_delivery_after_it_are_counted() {
    let bus = bus().await;
    publish_numbers(&bus, "a", 0..1).await;
    let mut events = bus.subscribe("a", "g").from(Position::Earliest).start().await.unwrap();
    soon(next(&mut events).await.nack("not now")).await.unwrap();
    let nacked = Counts { delivered: 1, nacked: 1, ..Counts::default() };
    assert_eq!(counts(&bus, "a"), nacked);
    soon(next(&mut events).await.ack()).await.unwrap();
    assert_eq!(counts(&bus, "a"), Counts { delivered: 2, redelivered: 1, acked: 1, ..nacked });
    assert_eq!(group(&bus, "a").handler_ms.count, 1, "only what was acked was handled");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_runs_out_is_no_nack() {
    let bus = bus().await;
    publish_numbers(&bus, "a", 0..1).await;
    let group_of = bus.subscribe("a", "g").from(Position::Earliest).ack_timeout(Duration::from_secs(1));
    let mut events = group_of.start().await.unwrap();
    let expired = next(&mut events).await;
    advance(Duration::from_millis(1001)).await;
    until(async || counts(&bus, "a").in_flight == 0).await;
    assert_eq!(counts(&bus, "a"), Counts { delivered: 1, ..Counts::default() });
    let live = next(&mut events).await;
    assert_eq!(counts(&bus, "a"), Counts { delivered: 2, redelivered: 1, in_flight: 1, ..Counts::default() });
    assert!(matches!(soon(expired.ack()).await, Err(Error::NotLeased { .. })));
    assert_eq!(counts(&bus, "a").acked, 0);
    soon(live.ack()).await.unwrap();
    assert_eq!(counts(&bus, "a"), Counts { delivered: 2, redelivered: 1, acked: 1, ..Counts::default() });
}

#[tokio::test(start_paused = true)]
async fn a_dead_letter_counts_for_the_group_and_for_the_topic_of_letters() {
    let bus = bus().await;
    publish_numbers(&bus, "a", 0..2).await;
    let group_of = bus.subscribe("a", "g").from(Position::Earliest).max_attempts(1);
    let mut events = group_of.filter("if .payload == 1 then error(\"odd\") else true end").start().await.unwrap();
    soon(next(&mut events).await.nack("never")).await.unwrap();
    until(async || counts(&bus, "a").dead_lettered == 2).await;
    assert_eq!(published(&bus, "dlq.a"), Some(2));
    assert_eq!(published(&bus, "a"), Some(2));
    until(async || counts(&bus, "a").in_flight == 0).await;
    let by_handler_and_by_filter = Counts { delivered: 1, nacked: 1, dead_lettered: 2, ..Counts::default() };
    assert_eq!(counts(&bus, "a"), by_handler_and_by_filter);
}

#[tokio::test(start_paused = true)]
async fn what_is_given_back_is_redelivered_only_if_a_subscriber_had_it() {
    let bus = bus().await;
    publish_numbers(&bus, "a", 0..3).await;
    let group_of = bus.subscribe("a", "g").from(Position::Earliest);
    let mut events = group_of.clone().start().await.unwrap();
    let _held = next(&mut events).await;
    events.unsubscribe().await;
    assert_eq!(counts(&bus, "a"), Counts { delivered: 1, ..Counts::default() }, "nothing is in flight");

    let mut events = group_of.start().await.unwrap();
    let all = soon(events.next_batch()).await;
    assert_eq!(all.len(), 3);
    assert_eq!(counts(&bus, "a"), Counts { delivered: 4, redelivered: 1, in_flight: 3, ..Counts::default() });
    soon(ack_all(all)).await.unwrap();
    assert_eq!(counts(&bus, "a"), Counts { delivered: 4, redelivered: 1, acked: 3, ..Counts::default() });
}

#[tokio::test(start_paused = true)]
async fn the_partitions_of_a_topic_add_up() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new("a").unwrap().partitions(4)).await.unwrap();
    let mut events = bus.subscribe("a", "g").start().await.unwrap();
    publish_numbers(&bus, "a", 0..40).await;
    until(async || counts(&bus, "a").in_flight == 40).await;
    for taken in 1..=40 {
        soon(next(&mut events).await.ack()).await.unwrap();
        assert_eq!(
            counts(&bus, "a"),
            Counts { delivered: taken, acked: taken, in_flight: 40 - taken, ..Counts::default() }
        );
    }
    assert_eq!(bus.meters().groups.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_read_of_a_dispatcher_is_a_poll_and_an_idle_one_reads_nothing() {
    let bus = bus().await;
    let mut events = bus.subscribe("a", "g").start().await.unwrap();
    publish_numbers(&bus, "a", 0..1).await;
    soon(next(&mut events).await.ack()).await.unwrap();
    let polls = group(&bus, "a").poll_ms.count;
    assert!(polls >= 1);
    assert!(stays_silent(&mut events, Duration::from_secs(3600)).await);
    assert_eq!(group(&bus, "a").poll_ms.count, polls);
}

#[tokio::test(start_paused = true)]
async fn the_meters_of_a_deleted_group_disappear() {
    let bus = bus().await;
    publish_numbers(&bus, "a", 0..1).await;
    let group_of = bus.subscribe("a", "g").from(Position::Earliest);
    let mut events = group_of.clone().start().await.unwrap();
    let mut others = bus.subscribe("a", "others").from(Position::Earliest).start().await.unwrap();
    soon(next(&mut events).await.ack()).await.unwrap();
    soon(next(&mut others).await.ack()).await.unwrap();
    bus.delete_group("g").await.unwrap();
    let names: Vec<_> = bus.meters().groups.into_iter().map(|meters| meters.group.to_string()).collect();
    assert_eq!(names, ["others"]);
    let mut events = group_of.start().await.unwrap();
    soon(next(&mut events).await.ack()).await.unwrap();
    assert_eq!(counts(&bus, "a"), Counts { delivered: 1, acked: 1, ..Counts::default() }, "a new group begins at 0");
}

#[tokio::test(start_paused = true)]
async fn lags_counted_together_are_those_counted_one_by_one() {
    let bus = bus().await;
    for (topic, events) in [("a.one", 3), ("a.two", 5), ("b", 7)] {
        publish_numbers(&bus, topic, 0..events).await;
    }
    let mut both = bus.subscribe("a.*", "g").from(Position::Earliest).start().await.unwrap();
    for _ in 0..4 {
        soon(next(&mut both).await.ack()).await.unwrap();
    }
    let _latest = bus.subscribe("**", "h").start().await.unwrap();
    // Comes after both groups, and its cursors are not stored yet.
    publish_numbers(&bus, "a.three", 0..2).await;
    let counts = bus.lag_counts().await.unwrap();
    let named: Vec<String> = counts.iter().map(|count| format!("{} {}", count.topic, count.group)).collect();
    assert_eq!(named, ["a.one g", "a.one h", "a.three g", "a.three h", "a.two g", "a.two h", "b h"]);
    for count in counts {
        let lag = bus.lag(&count.topic, &count.group).await.unwrap();
        assert_eq!(count.lag_events, lag.lag_events, "{} {}", count.topic, count.group);
    }
}
