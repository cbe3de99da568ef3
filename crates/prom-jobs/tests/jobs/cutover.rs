//! A topic's history in the topic of its latest version.

use prom_engine::{TopicOffsets, TopicSettings};
use prom_jobs::{Cutover, CutoverTarget, JobError, UnfitEvent};
use serde_json::{Value, json};

use crate::{TOPIC, bus, candidate, heartbeat, publish, renamed};

async fn finish(cutover: &mut Cutover) {
    while !cutover.step().await.unwrap().done {}
}

#[tokio::test]
async fn every_event_arrives_once_in_its_partition_and_in_order_also_after_a_stop() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new(TOPIC).unwrap().partitions(3)).await.unwrap();
    publish(&bus, 0..2500).await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    bus.register_schema(TOPIC, renamed()).await.unwrap();
    let mut cutover = Cutover::start(&bus, TOPIC, CutoverTarget::OfItsVersion, UnfitEvent::Stop).await.unwrap();
    assert_eq!(cutover.target().as_str(), "heartbeat.received.v2");
    cutover.step().await.unwrap();
    drop(cutover);
    let mut cutover = Cutover::start(&bus, TOPIC, CutoverTarget::OfItsVersion, UnfitEvent::Stop).await.unwrap();
    assert_eq!(cutover.progress().written, 1000, "it goes on where the last one ended");
    publish(&bus, 2500..2600).await;
    finish(&mut cutover).await;
    let progress = cutover.progress().clone();
    assert_eq!((progress.read, progress.written, progress.skipped, progress.left), (2600, 2600, 0, 0));
    let source = bus.read_topic(TOPIC, TopicOffsets::default(), 5000).await.unwrap().events;
    let moved = bus.read_topic("heartbeat.received.v2", TopicOffsets::default(), 5000).await.unwrap().events;
    assert_eq!(source.len(), moved.len());
    for (before, after) in source.iter().zip(&moved) {
        assert_eq!(
            (before.id(), before.partition(), before.key(), before.ts()),
            (after.id(), after.partition(), after.key(), after.ts())
        );
        let payload: Value = after.payload().unwrap();
        assert_eq!((&payload["mem_mib"], payload.get("mem_mb")), (&json!(1), None));
    }
    finish(&mut Cutover::start(&bus, TOPIC, CutoverTarget::OfItsVersion, UnfitEvent::Stop).await.unwrap()).await;
    assert_eq!(
        bus.read_topic("heartbeat.received.v2", TopicOffsets::default(), 5000).await.unwrap().events.len(),
        2600
    );
}

#[tokio::test]
async fn what_does_not_fit_stops_it_or_is_counted() {
    let bus = bus().await;
    publish(&bus, 0..10).await;
    bus.publish(TOPIC, json!({"pid": "text", "mem_mb": 1})).await.unwrap();
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    bus.register_schema(TOPIC, renamed()).await.unwrap();
    let mut stops = Cutover::start(&bus, TOPIC, CutoverTarget::OfItsVersion, UnfitEvent::Stop).await.unwrap();
    let told = stops.step().await.unwrap_err();
    assert!(matches!(&told, JobError::NotUpcast { reason, .. } if reason.contains("/pid")), "{told}");
    let mut skips = Cutover::start(&bus, TOPIC, CutoverTarget::OfItsVersion, UnfitEvent::Skip).await.unwrap();
    finish(&mut skips).await;
    assert_eq!((skips.progress().written, skips.progress().skipped), (10, 1));
}

#[tokio::test]
async fn of_two_at_once_one_stops_and_nothing_is_doubled() {
    let bus = bus().await;
    publish(&bus, 0..1500).await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    let mut one = Cutover::start(&bus, TOPIC, CutoverTarget::OfItsVersion, UnfitEvent::Stop).await.unwrap();
    let mut other = Cutover::start(&bus, TOPIC, CutoverTarget::OfItsVersion, UnfitEvent::Stop).await.unwrap();
    one.step().await.unwrap();
    assert!(matches!(other.step().await, Err(JobError::Running { .. })));
    finish(&mut one).await;
    let moved = bus.read_topic("heartbeat.received.v1", TopicOffsets::default(), 5000).await.unwrap().events;
    assert_eq!(moved.len(), 1500);
    assert!(matches!(
        Cutover::start(&bus, "no.schema", CutoverTarget::OfItsVersion, UnfitEvent::Stop).await,
        Err(JobError::NoSchema { .. })
    ));
}

#[tokio::test]
async fn what_was_written_twice_before_is_not_there_twice_after() {
    let bus = bus().await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    publish(&bus, 0..5).await;
    for number in 5..10u64 {
        bus.publish(TOPIC, json!({"pid": number, "mem_mb": 1})).key("k").dual_write().await.unwrap();
    }
    let mut cutover = Cutover::start(&bus, TOPIC, CutoverTarget::OfItsVersion, UnfitEvent::Stop).await.unwrap();
    finish(&mut cutover).await;
    assert_eq!(bus.bounds("heartbeat.received.v1").await.unwrap()[0].next, 10);
}
