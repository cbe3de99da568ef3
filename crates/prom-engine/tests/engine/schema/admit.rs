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
