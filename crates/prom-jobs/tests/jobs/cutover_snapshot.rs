//! The state of a topic as its latest version has it, in a snapshot.

use std::collections::BTreeMap;

use prom_engine::{Bus, Error, TopicLetters, TopicOffsets, TopicSettings};
use prom_jobs::{Cutover, CutoverPlan, CutoverTarget, JobError, Snapshot, UnfitEvent};
use prom_types::TopicName;
use serde_json::{Value, json};

use crate::{TOPIC, bus, candidate, heartbeat, publish, renamed};

const TARGET: &str = "heartbeat.received.snapshot.v2";

async fn start(bus: &Bus, unfit: UnfitEvent) -> Result<Cutover, JobError> {
    let plan = CutoverPlan::make(bus, TOPIC, CutoverTarget::Snapshot).await?;
    Cutover::start(bus, plan, unfit).await
}

async fn finish(cutover: &mut Cutover) {
    while !cutover.step().await.unwrap().done {}
    assert!(cutover.progress().adds_up(), "{:?}", cutover.progress());
}

async fn made(bus: &Bus) -> Cutover {
    let mut cutover = start(bus, UnfitEvent::Stop).await.unwrap();
    finish(&mut cutover).await;
    cutover
}

/// So many keys in three partitions and two versions; some are deleted, and one event has no key.
async fn filled(keys: u64) -> Bus {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new(TOPIC).unwrap().partitions(3)).await.unwrap();
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    let publish = async |numbers: std::ops::Range<u64>, memory: &str| {
        for number in numbers {
            let key = format!("k{:05}", number % keys);
            bus.publish(TOPIC, json!({"pid": number, memory: 1})).key(key).await.unwrap();
        }
    };
    publish(0..keys, "mem_mb").await;
    bus.register_schema(TOPIC, renamed()).await.unwrap();
    publish(keys..keys + keys / 2, "mem_mib").await;
    for key in (0..keys).step_by(10) {
        bus.publish(TOPIC, Value::Null).key(format!("k{key:05}")).await.unwrap();
    }
    bus.publish(TOPIC, json!({"pid": 1, "mem_mib": 1})).await.unwrap();
    bus
}

/// What a program that reads the past normalised makes of everything.
async fn state_by_hand(bus: &Bus) -> BTreeMap<String, Value> {
    let events = bus.read_topic(TOPIC, TopicOffsets::default(), 1_000_000).await.unwrap().events;
    let mut state = BTreeMap::new();
    for event in bus.normalize(events).await {
        let event = event.unwrap();
        let Some(key) = event.key() else { continue };
        match event.is_tombstone() {
            true => state.remove(key),
            false => {
                let mut text = Vec::new();
                event.write_json(&mut text);
                state.insert(key.to_owned(), serde_json::from_slice(&text).unwrap())
            }
        };
    }
    state
}

/// The events of a snapshot, each from its first to its marker, as a cold start reads them.
async fn state_in(bus: &Bus, snapshot: &Snapshot) -> BTreeMap<String, Value> {
    let mut state = BTreeMap::new();
    for (partition, part) in (0..).zip(&snapshot.partitions) {
        let mut before = String::new();
        let count = (part.marker - part.first) as usize;
        let read = bus.read(TARGET, partition, part.first, count + 1).await.unwrap().events;
        assert_eq!(read.len(), count + 1);
        for event in &read[..count] {
            let key = event.key().unwrap().to_owned();
            assert!(before < key, "sorted by key");
            assert_eq!(event.headers().get("x-snapshot"), Some(&*snapshot.id.to_string()));
            assert!(state.insert(key.clone(), event.payload().unwrap()).is_none(), "{key} twice");
            before = key;
        }
        let marker: Value = read[count].payload().unwrap();
        assert_eq!(read[count].offset(), part.marker);
        let said = ["partition", "count", "covered_offset", "version"].map(|name| marker[name].as_u64().unwrap());
        assert_eq!(said, [u64::from(partition), count as u64, part.covered, 2]);
    }
    assert_eq!(state.len() as u64, snapshot.count);
    state
}

#[tokio::test]
async fn the_state_is_there_once_in_the_latest_version_also_after_stops() {
    let bus = filled(400).await;
    let mut cutover = start(&bus, UnfitEvent::Stop).await.unwrap();
    assert_eq!(cutover.plan().place.to_string(), TARGET);
    while cutover.step().await.unwrap().read == 0 {}
    let (mut stops, mut read) = (0, cutover.progress().read);
    let snapshot = loop {
        let mut cutover = start(&bus, UnfitEvent::Stop).await.unwrap();
        assert_eq!(cutover.read_before(), read, "it goes on where the last one ended");
        let progress = cutover.step().await.unwrap();
        read = progress.read;
        if progress.done {
            assert!(progress.adds_up());
            assert_eq!((progress.read, progress.written, progress.left), (360, 360, 0));
            break progress.snapshot().unwrap().clone();
        }
        stops += 1;
    };
    assert!(stops > 3, "{stops}: nothing was stopped on the way");
    assert_eq!(state_in(&bus, &snapshot).await, state_by_hand(&bus).await);
    let all: u64 = bus.bounds(TARGET).await.unwrap().iter().map(|bounds| bounds.next).sum();
    assert_eq!(all, 360 + 3, "nothing else was written");
}

#[tokio::test]
async fn a_run_without_news_tells_of_the_last_one_and_one_with_news_makes_another() {
    let bus = filled(20).await;
    let first = made(&bus).await;
    let again = made(&bus).await;
    assert_eq!(again.progress().snapshot(), first.progress().snapshot());
    assert_eq!((again.read_before(), again.progress().read), (18, 18));
    bus.publish(TOPIC, json!({"pid": 9, "mem_mb": 7})).key("k00001").await.unwrap();
    let second = made(&bus).await;
    assert_eq!((second.read_before(), second.progress().read), (0, 18), "it counts for itself");
    let (first, second) = (first.progress().snapshot().unwrap(), second.progress().snapshot().unwrap());
    assert_ne!(first.id, second.id);
    let state = state_in(&bus, second).await;
    assert_eq!(state["k00001"]["payload"], json!({"pid": 9, "mem_mib": 7}));
    assert_eq!(state, state_by_hand(&bus).await);
    state_in(&bus, first).await;
    let stored = bus.history(&TopicName::parse(TARGET).unwrap()).await.unwrap().history;
    assert_eq!(stored.keep_from, Some(second.partitions.iter().map(|part| part.first).collect()));
}

#[tokio::test]
async fn what_does_not_fit_stops_it_or_is_counted_and_brought_once_it_fits() {
    let bus = bus().await;
    publish(&bus, 0..10).await;
    bus.publish(TOPIC, json!({"pid": "text", "mem_mb": 1})).key("odd").await.unwrap();
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    bus.register_schema(TOPIC, renamed()).await.unwrap();
    let mut stops = start(&bus, UnfitEvent::Stop).await.unwrap();
    let told = loop {
        match stops.step().await {
            Ok(progress) => assert!(!progress.done),
            Err(told) => break told,
        }
    };
    assert!(matches!(&told, JobError::Unfit { reason, offset: 10, .. } if reason.contains("/pid")), "{told}");
    let mut skips = start(&bus, UnfitEvent::Skip).await.unwrap();
    finish(&mut skips).await;
    assert_eq!((skips.progress().written, skips.progress().skipped), (7, 1));
    let mended = ".mem_mib = .mem_mb | del(.mem_mb) | .pid = (.pid | tonumber? // 0)";
    bus.set_upcaster(TOPIC, 1, Some(mended.to_owned())).await.unwrap();
    let whole = made(&bus).await;
    assert_eq!((whole.progress().written, whole.progress().skipped), (8, 0), "nobody has to delete anything");
}

#[tokio::test]
async fn of_two_at_once_one_stops_and_a_target_that_goes_ends_it() {
    let bus = filled(400).await;
    let mut one = start(&bus, UnfitEvent::Stop).await.unwrap();
    while one.step().await.unwrap().read == 0 {}
    let mut other = start(&bus, UnfitEvent::Stop).await.unwrap();
    assert!(matches!(one.step().await, Err(JobError::Running { .. })));
    other.step().await.unwrap();
    bus.delete_topic(TARGET, TopicLetters::Keep).await.unwrap();
    let told = other.step().await.unwrap_err();
    assert!(matches!(told, JobError::Deleted { .. }), "{told}");
    assert!(bus.topic(TARGET).await.is_err(), "nothing was made anew");
    let again = made(&bus).await;
    assert_eq!(again.read_before(), 0);
    assert_eq!(state_in(&bus, again.progress().snapshot().unwrap()).await, state_by_hand(&bus).await);
}

#[tokio::test]
async fn topics_that_hold_other_events_are_left_alone_and_nobody_else_writes_there() {
    let bus = filled(20).await;
    bus.publish(TARGET, json!(1)).await.unwrap();
    let told = start(&bus, UnfitEvent::Stop).await.err().unwrap();
    assert!(matches!(&told, JobError::SnapshotTopic { reason, .. } if reason.contains(TARGET)), "{told}");
    bus.delete_topic(TARGET, TopicLetters::Keep).await.unwrap();
    made(&bus).await;
    let refused = bus.publish(TARGET, json!(1)).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid(_)), "{refused}");
    assert!(matches!(start_of(&bus, "no.schema").await, JobError::NoSchema { .. }));
}

async fn start_of(bus: &Bus, topic: &str) -> JobError {
    CutoverPlan::make(bus, topic, CutoverTarget::Snapshot).await.unwrap_err()
}

#[tokio::test]
async fn a_version_that_comes_on_the_way_ends_it_and_gets_a_snapshot_of_its_own() {
    let bus = filled(400).await;
    let mut cutover = start(&bus, UnfitEvent::Stop).await.unwrap();
    while cutover.step().await.unwrap().read == 0 {}
    let mut third = heartbeat("mem_mib");
    third["properties"]["zone"] = json!({"type": "string"});
    bus.register_schema(TOPIC, candidate(third)).await.unwrap();
    assert!(matches!(cutover.step().await, Err(JobError::OtherVersion { .. })));
    let next = made(&bus).await;
    assert_eq!(next.plan().place.to_string(), "heartbeat.received.snapshot.v3");
    assert_eq!(next.progress().written, 360);
}
