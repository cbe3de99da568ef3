//! Retention and compaction meeting groups that are still at work.

use std::time::Duration;

use prom_engine::{Bus, Error, GapReason, Item, Mode, Position, Subscription, TopicSettings};
use serde_json::json;

use crate::support::{World, bus, floor, next, publish_numbers, soon, take_acked};

#[tokio::test(start_paused = true)]
async fn retention_by_age_goes_by_the_time_of_storing() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new("numbers").unwrap().retain_for(Duration::from_secs(60))).await.unwrap();
    publish_numbers(&bus, "numbers", 0..3).await;
    tokio::time::sleep(Duration::from_secs(50)).await;
    publish_numbers(&bus, "numbers", 3..5).await;
    assert!(bus.retain_now().await.unwrap().is_empty());
    tokio::time::sleep(Duration::from_secs(20)).await;
    let retained = bus.retain_now().await.unwrap();
    assert_eq!((retained[0].start, retained[0].removed_offsets), (3, 3));
    tokio::time::sleep(Duration::from_secs(60)).await;
    bus.retain_now().await.unwrap();
    assert_eq!(bus.publish("numbers", json!(5)).await.unwrap().offset, 5, "offsets survive an empty log");
}

#[tokio::test]
async fn retention_by_size_keeps_the_newest() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new("numbers").unwrap().retain_bytes(1000)).await.unwrap();
    publish_numbers(&bus, "numbers", 0..100).await;
    bus.retain_now().await.unwrap();
    let page = bus.read("numbers", 0, 0, 100).await.unwrap();
    assert!(page.bounds.start > 50 && page.bounds.start < 100, "{:?}", page.bounds);
}

#[tokio::test(start_paused = true)]
async fn events_trimmed_in_flight_are_a_gap_and_may_still_be_acked() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new("numbers").unwrap().retain_for(Duration::from_secs(10))).await.unwrap();
    publish_numbers(&bus, "numbers", 0..4).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest).max_in_flight(2);
    let mut numbers = group.start().await.unwrap();
    let (first, second) = (next(&mut numbers).await, next(&mut numbers).await);
    tokio::time::sleep(Duration::from_secs(11)).await;
    publish_numbers(&bus, "numbers", 4..6).await;
    bus.retain_now().await.unwrap();
    let Some(Item::Gap(gap)) = soon(numbers.next_item()).await else {
        panic!("no gap was told");
    };
    assert_eq!((gap.from, gap.to, gap.reason), (0, 4, GapReason::Retention));
    soon(first.ack()).await.unwrap();
    soon(second.nack("gone anyway")).await.unwrap();
    assert_eq!(take_acked(&mut numbers, 2).await, [4, 5]);
    assert_eq!(floor(&bus, "numbers", "g").await, 6);
    assert_eq!(bus.lag("numbers", "g").await.unwrap().lag_events, 0);
}

#[tokio::test]
async fn compaction_keeps_the_latest_of_each_key_and_groups_go_on() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new("state").unwrap().compacted()).await.unwrap();
    for round in 0..3000 {
        bus.publish("state", json!(round)).key(format!("k{}", round % 3)).await.unwrap();
    }
    let mut state = bus.subscribe("state", "g").from(Position::Earliest).max_in_flight(1).start().await.unwrap();
    assert_eq!(take_acked(&mut state, 2000).await, (0..2000).collect::<Vec<_>>());
    let held = next(&mut state).await;
    let reports = bus.compact_now().await.unwrap();
    assert!(reports[0].1.events_after < reports[0].1.events_before, "{reports:?}");
    assert!(reports[0].1.events_after >= 1000, "what the group has yet to read stays: {reports:?}");
    soon(held.ack()).await.unwrap();
    assert_eq!(take_acked(&mut state, 999).await, (2001..3000).collect::<Vec<_>>());
    assert_eq!(floor(&bus, "state", "g").await, 3000);
    let latest = bus.latest_by_key("state", &["k0", "none", "k2"]).await.unwrap();
    let latest: Vec<_> =
        latest.iter().map(|event| event.as_ref().map(|event| event.payload::<u64>().unwrap())).collect();
    assert_eq!(latest, [Some(2997), None, Some(2999)]);
    publish_numbers(&bus, "plain", 0..1).await;
    assert!(matches!(bus.latest_by_key("plain", &["k"]).await, Err(Error::Store(_))));
}

/// Retention removes everything before this offset.
async fn trim(world: &World, before: u64) {
    let log = prom_store::LogName::new(prom_types::TopicName::parse("numbers").unwrap(), 0);
    world.store.trim(&log, before).await.unwrap();
}

/// The first gap that a subscription is told of.
async fn gap_of(numbers: &mut Subscription) -> (u64, u64) {
    match soon(numbers.next_item()).await {
        Some(Item::Gap(gap)) => (gap.from, gap.to),
        other => panic!("no gap was told, but {other:?}"),
    }
}

fn lost(bus: &Bus) -> (u64, u64) {
    let meters = bus.meters();
    let groups = meters.groups.iter().filter(|group| group.topic.as_str() == "numbers").map(|group| group.lost).sum();
    let topic = meters.topics.iter().find(|topic| topic.topic.as_str() == "numbers");
    (groups, topic.map_or(0, |topic| topic.lost_to_tails))
}

#[tokio::test]
async fn a_reader_that_begins_before_the_start_is_told_of_the_gap_and_it_is_counted() {
    let world = World::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..10).await;
    trim(&world, 6).await;
    let mut shared = bus.subscribe("numbers", "shared").from(Position::Offset(2)).start().await.unwrap();
    assert_eq!(gap_of(&mut shared).await, (2, 6));
    assert_eq!(take_acked(&mut shared, 4).await, [6, 7, 8, 9]);
    let owned = bus.subscribe("numbers", "owned").from(Position::Offset(3)).mode(Mode::Partitioned);
    let mut owned = owned.start().await.unwrap();
    assert_eq!(gap_of(&mut owned).await, (3, 6));
    assert_eq!(take_acked(&mut owned, 4).await, [6, 7, 8, 9]);
    assert_eq!(lost(&bus), (4 + 3, 0));

    let mut tail = bus.tail("numbers").from(Position::Offset(1)).start().await.unwrap();
    assert_eq!(tail.next().await.unwrap().unwrap().offset(), 6);
    let gaps = tail.take_gaps();
    assert_eq!((gaps.len(), gaps[0].from, gaps[0].to), (1, 1, 6));
    let page = bus.read_topic("numbers", prom_engine::TopicOffsets(vec![4]), 100).await.unwrap();
    assert_eq!((page.gaps.len(), page.gaps[0].from, page.gaps[0].to, page.events.len()), (1, 4, 6, 4));
    assert_eq!(lost(&bus), (7, 5 + 2));

    for position in [Position::Earliest, Position::Latest, Position::StoredAt(0)] {
        let mut tail = bus.tail("numbers").from(position).start().await.unwrap();
        bus.publish("numbers", json!(10)).await.unwrap();
        tail.next().await.unwrap();
        assert!(tail.take_gaps().is_empty(), "nothing is missing from {position:?}");
    }
}

#[tokio::test]
async fn a_group_that_rested_while_retention_went_on_is_told_when_it_comes_back() {
    let world = World::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..10).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).max_in_flight(3).start().await.unwrap();
    let held = [next(&mut numbers).await, next(&mut numbers).await, next(&mut numbers).await];
    let [_first, second, third] = held;
    soon(second.ack()).await.unwrap();
    soon(third.ack()).await.unwrap();
    numbers.unsubscribe().await;
    trim(&world, 7).await;
    let mut again = bus.subscribe("numbers", "g").start().await.unwrap();
    assert_eq!(gap_of(&mut again).await, (0, 7));
    assert_eq!(take_acked(&mut again, 3).await, [7, 8, 9]);
    assert_eq!(lost(&bus).0, 5, "the two that were acked are not lost");
}
