//! Maintenance over stores and documents that fail in one place: the rest is looked after.

use std::time::Duration;

use prom_engine::{Bus, Error, TopicSettings};
use prom_store::{Commit, DocumentWrite};

use crate::faults::Stubborn;
use crate::support::{World, publish_numbers, until};

/// The parts that a pass names as failed.
fn failed_parts<T>(result: Result<T, Error>) -> Vec<String> {
    match result {
        Err(Error::Incomplete { failed, .. }) => failed.into_iter().map(|(part, _)| part).collect(),
        Err(error) => panic!("{error}"),
        Ok(_) => Vec::new(),
    }
}

async fn start_of(bus: &Bus, topic: &str) -> u64 {
    bus.read(topic, 0, 0, 1).await.unwrap().bounds.start
}

async fn topics_with(bus: &Bus, settings: impl Fn(TopicSettings) -> TopicSettings) {
    for topic in ["a", "b", "c"] {
        let topic = settings(TopicSettings::new(topic).unwrap());
        bus.create_topic(topic).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_that_fails_does_not_keep_others_from_being_trimmed() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    topics_with(&bus, |topic| topic.retain_for(Duration::from_secs(10))).await;
    for topic in ["a", "b", "c"] {
        publish_numbers(&bus, topic, 0..3).await;
    }
    tokio::time::sleep(Duration::from_secs(11)).await;
    store.set(|faults| faults.bad_topic = Some("b"));
    let result = bus.retain_now().await;
    let told = result.as_ref().unwrap_err().to_string();
    assert!(told.contains("b/0") && told.contains("hiccuped"), "{told}");
    assert_eq!(failed_parts(result), ["b/0"]);
    store.set(|faults| faults.bad_topic = None);
    assert_eq!((start_of(&bus, "a").await, start_of(&bus, "c").await), (3, 3));
    assert_eq!(start_of(&bus, "b").await, 0);
    assert_eq!(bus.retain_now().await.unwrap().len(), 1, "and later it is trimmed too");
}

#[tokio::test]
async fn a_log_that_fails_does_not_keep_others_from_being_compacted() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    topics_with(&bus, TopicSettings::compacted).await;
    for topic in ["a", "b", "c"] {
        for round in 0..1500 {
            bus.publish(topic, serde_json::json!(round)).key("k").await.unwrap();
        }
    }
    store.set(|faults| faults.bad_topic = Some("a"));
    assert_eq!(failed_parts(bus.compact_now().await), ["a/0"]);
    store.set(|faults| faults.bad_topic = None);
    let reports = bus.compact_now().await.unwrap();
    let left: Vec<_> = reports.iter().map(|(log, report)| (log.topic.as_str(), report.events_before)).collect();
    let done_before = |topic| left.iter().any(|&(name, before)| name == topic && before < 1500);
    assert!(!done_before("a") && done_before("b") && done_before("c"), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn a_group_that_cannot_be_read_does_not_keep_others_from_expiring() {
    let world = World::new();
    let bus = world.bus().await;
    let group = bus.subscribe("numbers", "left").expire_after(Duration::from_secs(60));
    drop(group.start().await.unwrap());
    let broken = DocumentWrite::put("groups", "broken", b"no group".to_vec());
    world.store.commit(Commit::document(broken)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(failed_parts(bus.expire_groups_now().await), ["group broken"]);
    let left = world.store.document("groups", "left").await.unwrap();
    assert!(left.is_none(), "it has still expired");
}

#[tokio::test(start_paused = true)]
async fn the_background_pass_goes_on_past_a_log_that_fails() {
    let (store, world) = Stubborn::new();
    let every_minute = Some(Duration::from_secs(60));
    let bus = world.bus_with(|options| options.maintenance_interval = every_minute).await;
    topics_with(&bus, |topic| topic.retain_for(Duration::from_secs(10))).await;
    publish_numbers(&bus, "c", 0..3).await;
    store.set(|faults| faults.bad_topic = Some("a"));
    tokio::time::sleep(Duration::from_secs(61)).await;
    until(async || start_of(&bus, "c").await == 3).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_appended_while_retention_looks_is_not_trimmed() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    let settings = TopicSettings::new("numbers").unwrap().retain_bytes(200);
    bus.create_topic(settings).await.unwrap();
    publish_numbers(&bus, "numbers", 0..3).await;
    store.set(|faults| faults.appends_at_find = 5);
    bus.retain_now().await.unwrap();
    let bounds = bus.read("numbers", 0, 0, 1).await.unwrap().bounds;
    assert_eq!((bounds.start, bounds.next), (3, 8));
}

#[tokio::test(start_paused = true)]
async fn retention_by_age_keeps_what_is_appended_while_it_looks() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    let settings = TopicSettings::new("numbers").unwrap().retain_for(Duration::from_secs(10));
    bus.create_topic(settings).await.unwrap();
    publish_numbers(&bus, "numbers", 0..3).await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    store.set(|faults| faults.appends_at_find = 2);
    bus.retain_now().await.unwrap();
    let bounds = bus.read("numbers", 0, 0, 1).await.unwrap().bounds;
    assert_eq!((bounds.start, bounds.next), (3, 5));
}
