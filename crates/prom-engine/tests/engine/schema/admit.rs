//! Judging what is published.

use prom_engine::{Admit, Bus, Error, SettingsChange, VERSION_HEADER};
use prom_types::{NewEvent, TopicName};
use serde_json::{Value, json};

use super::{HEARTBEAT, heartbeat, register, register_heartbeats};
use crate::support::bus;

async fn version_at(bus: &Bus, offset: u64) -> Option<String> {
    let page = bus.read(HEARTBEAT, 0, offset, 1).await.unwrap();
    page.events[0].headers().get(VERSION_HEADER).map(str::to_owned)
}

#[tokio::test]
async fn a_payload_that_fits_is_stamped_and_one_that_does_not_is_refused_with_the_place() {
    let bus = bus().await;
    register(&bus, HEARTBEAT, heartbeat("mem_mb")).await;
    bus.publish(HEARTBEAT, json!({"pid": 1, "name": "web", "mem_mb": 3})).await.unwrap();
    assert_eq!(version_at(&bus, 0).await.as_deref(), Some("1"));
    let refused = bus.publish(HEARTBEAT, json!({"pid": 0, "name": "web", "mem_mb": 3})).await.unwrap_err();
    let Error::SchemaInvalid { version: 1, refusal, .. } = refused else { panic!("{refused}") };
    assert_eq!((refusal.pointer.as_str(), refusal.rule.as_str(), refusal.value.as_str()), ("/pid", "minimum", "0"));
    assert_eq!(bus.bounds(HEARTBEAT).await.unwrap()[0].next, 1, "nothing was stored");
    bus.publish("other.topic", json!("anything")).await.unwrap();
}

#[tokio::test]
async fn writers_of_an_older_version_go_on_and_a_named_version_decides() {
    let bus = bus().await;
    register_heartbeats(&bus).await;
    let old = || json!({"pid": 1, "name": "web", "mem_mb": 3});
    let new = || json!({"pid": 1, "name": "web", "mem_mib": 3});
    bus.publish(HEARTBEAT, old()).await.unwrap();
    bus.publish(HEARTBEAT, new()).await.unwrap();
    bus.publish(HEARTBEAT, old()).header(VERSION_HEADER, "1").await.unwrap();
    for (offset, version) in [(0, "1"), (1, "2"), (2, "1")] {
        assert_eq!(version_at(&bus, offset).await.as_deref(), Some(version));
    }
    let refused = bus.publish(HEARTBEAT, old()).header(VERSION_HEADER, "2").await.unwrap_err();
    assert!(matches!(&refused, Error::SchemaInvalid { version: 2, .. }), "{refused}");
    for unknown in ["3", "0", "two"] {
        let refused = bus.publish(HEARTBEAT, new()).header(VERSION_HEADER, unknown).await.unwrap_err().to_string();
        assert!(refused.contains("registered are 1, 2"), "{refused}");
    }
}

#[tokio::test]
async fn with_admit_latest_only_the_latest_version_is_written() {
    let bus = bus().await;
    register_heartbeats(&bus).await;
    let latest = SettingsChange { admit: Some(Admit::Latest), ..SettingsChange::default() };
    bus.set_schema_settings(Some(HEARTBEAT), latest).await.unwrap();
    let refused = bus.publish(HEARTBEAT, json!({"pid": 1, "name": "web", "mem_mb": 3})).await.unwrap_err();
    assert!(matches!(refused, Error::SchemaInvalid { version: 2, .. }), "{refused}");
}

#[tokio::test]
async fn a_tombstone_has_no_content_to_judge() {
    let bus = bus().await;
    register(&bus, HEARTBEAT, heartbeat("mem_mb")).await;
    bus.publish(HEARTBEAT, Value::Null).key("web").await.unwrap();
    assert_eq!(version_at(&bus, 0).await, None);
}

#[tokio::test]
async fn of_a_batch_with_one_that_does_not_fit_nothing_is_stored() {
    let bus = bus().await;
    register(&bus, HEARTBEAT, heartbeat("mem_mb")).await;
    let event = |payload| NewEvent::new(TopicName::parse(HEARTBEAT).unwrap(), payload);
    let good = || event(json!({"pid": 1, "name": "web", "mem_mb": 3}));
    let bad = || event(json!({"pid": 1}));
    assert!(matches!(bus.publish_batch(vec![good(), bad()]).await, Err(Error::SchemaInvalid { .. })));
    let results = bus.publish_many(vec![good(), bad(), good()]).await;
    assert!(results[0].is_ok() && results[1].is_err() && results[2].is_ok());
    assert_eq!(bus.bounds(HEARTBEAT).await.unwrap()[0].next, 2);
}

/// Larger than what is judged on the publisher's own thread.
fn large(number: u64) -> Value {
    json!({"pid": 1, "name": "x".repeat(400 * 1024), "mem_mb": number})
}

#[tokio::test]
async fn what_takes_long_to_judge_is_judged_elsewhere_and_overtaken_by_nothing() {
    let bus = bus().await;
    register(&bus, HEARTBEAT, heartbeat("mem_mb")).await;
    let small = |number: u64| json!({"pid": 1, "name": "web", "mem_mb": number});
    // All are under way before the first is waited for.
    let publishing: Vec<_> = (0..20u64)
        .map(|number| {
            let payload = if number % 5 == 0 { large(number) } else { small(number) };
            bus.publish(HEARTBEAT, payload).send()
        })
        .collect();
    for (number, publishing) in publishing.into_iter().enumerate() {
        assert_eq!(publishing.await.unwrap().offset, number as u64);
    }
    for number in 0..20 {
        let event = &bus.read(HEARTBEAT, 0, number, 1).await.unwrap().events[0];
        assert_eq!(event.payload::<Value>().unwrap()["mem_mb"], number);
        assert_eq!(event.headers().get(VERSION_HEADER), Some("1"));
    }
}

#[tokio::test]
async fn what_is_judged_elsewhere_is_refused_like_anything_else() {
    let bus = bus().await;
    register(&bus, HEARTBEAT, heartbeat("mem_mb")).await;
    let refused = bus.publish(HEARTBEAT, json!({"pid": 0, "name": "x".repeat(400 * 1024)})).await.unwrap_err();
    assert!(matches!(refused, Error::SchemaInvalid { .. }), "{refused}");
    let event = |payload| NewEvent::new(TopicName::parse(HEARTBEAT).unwrap(), payload);
    let results = bus.publish_many(vec![event(large(1)), event(json!({})), event(large(2))]).await;
    assert!(results[0].is_ok() && results[2].is_ok(), "{results:?}");
    assert!(matches!(results[1], Err(Error::SchemaInvalid { .. })), "{results:?}");
    assert!(bus.publish_batch(vec![event(large(1)), event(json!({}))]).await.is_err());
    assert_eq!(bus.bounds(HEARTBEAT).await.unwrap()[0].next, 2);
}
/// A topic without events was judged on the thread that published, however long that took; and since nothing was
/// stored, it stayed a topic without events.
#[tokio::test]
async fn the_first_event_of_a_topic_waits_its_turn_like_any_other() {
    let bus = bus().await;
    register(&bus, "fresh.topic", json!({"pattern": "a[ab]{300}c"})).await;
    let topic = TopicName::parse("fresh.topic").unwrap();
    let long = NewEvent::new(topic.clone(), json!("ab".repeat(10_000)));
    assert!(bus.must_wait(&long), "no event was published yet");
    assert!(matches!(bus.publish_event(long.clone()).await, Err(Error::SchemaInvalid { version: 1, .. })));
    assert!(bus.must_wait(&long), "a refused event makes no topic");
    assert!(!bus.must_wait(&NewEvent::new(topic.clone(), json!("ab"))));
    let fits = format!("a{}c", "ab".repeat(150));
    let batch = vec![NewEvent::new(topic.clone(), json!(fits)), NewEvent::new(topic, json!("x".repeat(5_000)))];
    assert!(bus.publish_batch(batch.clone()).await.is_err());
    let results = bus.publish_many(batch).await;
    assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false]);
}

#[tokio::test]
async fn what_would_take_long_to_judge_is_refused_before_it_is_judged() {
    let bus = bus().await;
    register(&bus, "slow", json!({"pattern": "a[ab]{3000}c"})).await;
    let began = std::time::Instant::now();
    let refused = bus.publish("slow", json!("ab".repeat(300_000))).await.unwrap_err();
    assert!(matches!(&refused, Error::SchemaInvalid { refusal, .. } if refusal.rule == "cost"), "{refused}");
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "it was judged: {:?}", began.elapsed());
    bus.publish("slow", json!("ab".repeat(100))).await.unwrap_err();
    register(&bus, "plain", json!({"type": "string", "maxLength": 1_000_000})).await;
    bus.publish("plain", json!("ab".repeat(300_000))).await.unwrap();
}
