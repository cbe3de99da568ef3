//! Retention and compaction meeting groups that are still at work.

use std::time::Duration;

use prom_engine::{Error, GapReason, Item, Position, TopicSettings};
use serde_json::json;

use crate::support::{bus, floor, next, publish_numbers, soon, take_acked};

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
    let held = next(&mut state).await;
    let reports = bus.compact_now().await.unwrap();
    assert!(reports[0].1.events_after < reports[0].1.events_before, "{reports:?}");
    soon(held.ack()).await.unwrap();
    let mut last = 0;
    while last < 2999 {
        last = take_acked(&mut state, 1).await[0];
    }
    assert_eq!(floor(&bus, "state", "g").await, 3000);
    let latest = bus.latest_by_key("state", &["k0", "none", "k2"]).await.unwrap();
    let latest: Vec<_> =
        latest.iter().map(|event| event.as_ref().map(|event| event.payload::<u64>().unwrap())).collect();
    assert_eq!(latest, [Some(2997), None, Some(2999)]);
    publish_numbers(&bus, "plain", 0..1).await;
    assert!(matches!(bus.latest_by_key("plain", &["k"]).await, Err(Error::Store(_))));
}
