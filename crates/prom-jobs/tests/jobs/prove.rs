//! Proof by data.

use prom_jobs::{Prove, ProveProgress};
use serde_json::json;

use crate::{TOPIC, bus, candidate, heartbeat, publish, renamed};

async fn run(mut prove: Prove) -> ProveProgress {
    loop {
        let progress = prove.step().await.unwrap();
        if progress.done {
            return progress.clone();
        }
    }
}

#[tokio::test]
async fn every_stored_event_is_tried_and_what_fails_is_named() {
    let bus = bus().await;
    publish(&bus, 0..1500).await;
    let odd = bus.publish(TOPIC, json!({"pid": "text", "mem_mb": 1})).await.unwrap();
    publish(&bus, 1500..2600).await;
    bus.register_schema(TOPIC, candidate(json!({"type": "object"}))).await.unwrap();
    let (prove, verdict) = Prove::start(&bus, TOPIC, &renamed()).await.unwrap();
    assert_eq!((prove.version(), verdict.existing), (2, None));
    let progress = run(prove).await;
    assert_eq!((progress.scanned, progress.left, progress.failed), (2601, 0, 1));
    let failure = &progress.failures[0];
    assert_eq!((failure.id, failure.offset), (odd.id, odd.offset));
    assert!(failure.reason.contains("/pid"), "{}", failure.reason);
    assert_eq!(bus.schema(TOPIC).await.unwrap().unwrap().versions.len(), 1, "nothing was registered");
}

#[tokio::test]
async fn without_an_upcaster_everything_of_the_old_form_fails_and_only_some_are_told() {
    let bus = bus().await;
    publish(&bus, 0..100).await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    let (prove, _) = Prove::start(&bus, TOPIC, &candidate(heartbeat("mem_mib"))).await.unwrap();
    let progress = run(prove).await;
    assert_eq!((progress.failed, progress.failures.len()), (100, 20));
    assert!(progress.failures[0].reason.contains("no upcaster from version 1 to 2"));
}

#[tokio::test]
async fn events_that_come_meanwhile_do_not_hide_those_that_were_there() {
    let bus = bus().await;
    bus.create_topic(prom_engine::TopicSettings::new(TOPIC).unwrap().partitions(2)).await.unwrap();
    let to = |partition, payload| bus.publish(TOPIC, payload).partition(partition);
    for number in 0..100 {
        to(0, json!({"pid": number, "mem_mb": 1})).await.unwrap();
    }
    to(1, json!({"pid": "text", "mem_mb": 1})).await.unwrap();
    let (mut prove, _) = Prove::start(&bus, TOPIC, &candidate(heartbeat("mem_mb"))).await.unwrap();
    prove.step().await.unwrap();
    for number in 0..10 {
        to(0, json!({"pid": number, "mem_mb": 1})).await.unwrap();
    }
    assert_eq!(run(prove).await.failed, 1);
}
