//! Compaction: the latest event of each key is right before it, after it and after a restart.

use std::collections::BTreeMap;
use std::time::Duration;

use prom_testkit::Random;
use promethean::{Bus, Compaction, Error, NewEvent, Position, TopicName, TopicSettings, json};

use super::home::{Home, floor, next, publish_all};

const KEYS: u64 = 40;

/// The expected latest value of every key; `None` if it was deleted.
type Expected = BTreeMap<String, Option<u64>>;

async fn churn(bus: &Bus, random: &mut Random, expected: &mut Expected, events: u64) {
    let topic = TopicName::parse("state").unwrap();
    let mut batch = Vec::new();
    for _ in 0..events {
        let key = format!("key {}", random.within(0..KEYS));
        let value = (!random.one_in(10)).then(|| random.next_u64() >> 12);
        expected.insert(key.clone(), value);
        batch.push(NewEvent {
            key: Some(key),
            tags: vec!["x".repeat(60)],
            ..NewEvent::new(topic.clone(), json!(value))
        });
    }
    publish_all(bus, batch).await;
}

async fn assert_latest(bus: &Bus, expected: &Expected, when: &str) {
    let keys: Vec<&str> = expected.keys().map(String::as_str).chain(["never seen"]).collect();
    let found = bus.latest_by_key("state", &keys).await.unwrap();
    for (key, event) in keys.iter().zip(found) {
        let found = event.map(|event| event.payload::<u64>().unwrap());
        assert_eq!(found, expected.get(*key).copied().flatten(), "{key} {when}");
    }
}

#[tokio::test]
async fn the_latest_of_each_key_is_right_through_compactions_and_restarts() {
    for home in Home::of_each_store() {
        let (mut random, mut expected) = (Random::seeded(7), Expected::new());
        let mut bus = home.start().await;
        let settings = TopicSettings::new("state").unwrap();
        let compaction = Some(Compaction { tombstone_grace_ms: 1_000, min_age_ms: 0 });
        bus.create_topic(TopicSettings { compaction, ..settings }).await.unwrap();
        let keyless = bus.publish("state", json!(1)).await;
        assert!(matches!(keyless, Err(Error::KeyRequired { .. })));
        for round in 0..4 {
            churn(&bus, &mut random, &mut expected, 1_000).await;
            assert_latest(&bus, &expected, "before compaction").await;
            let report = bus.compact_now().await.unwrap()[0].1;
            if home.sizes.segment < 100_000 {
                assert!(report.events_after < report.events_before / 2 + 500, "round {round}: {report:?}");
            }
            assert_latest(&bus, &expected, "after compaction").await;
            bus = home.restart(bus).await;
            assert_latest(&bus, &expected, "after a restart").await;
            // Past the grace of the tombstones that were cleaned by now.
            home.clock.advance(Duration::from_secs(10));
        }
        assert_reading_gives_the_same(&bus, &expected).await;
        home.close_sound(bus).await;
    }
}

/// A group that reads the remaining events arrives at the same state.
async fn assert_reading_gives_the_same(bus: &Bus, expected: &Expected) {
    let mut state = bus.subscribe("state", "cache").from(Position::Earliest).start().await.unwrap();
    let mut seen = Expected::new();
    let mut last = None;
    while last != Some(3_999) {
        let delivery = next(&mut state).await;
        assert!(last.is_none_or(|last| last < delivery.offset()), "in order");
        last = Some(delivery.offset());
        seen.insert(delivery.key().unwrap().to_owned(), delivery.payload().unwrap());
        if delivery.offset() == 3_999 || delivery.offset().is_multiple_of(64) {
            delivery.ack().await.unwrap();
        } else {
            let _durable_before_the_next_one_that_is_awaited = delivery.ack();
        }
    }
    let live =
        |state: &Expected| -> Vec<_> { state.clone().into_iter().filter(|(_, value)| value.is_some()).collect() };
    assert_eq!(live(&seen), live(expected));
    assert_eq!(floor(bus, "state", "cache").await, 4_000, "holes count as settled");
}
