//! Schemas of the real hub, as a client meets them.

use prom_client::{ErrorCode, NewEvent, Position, TopicName, json};
use prom_engine::{Bus, Compat, SchemaCandidate, SchemaDocument};
use serde_json::Value;

use crate::scene::{Scene, within};

const TOPIC: &str = "heartbeat.received";

/// Version 2 renames the memory of version 1.
async fn register(bus: &Bus) {
    let candidate = |memory: &str| {
        let schema = json!({"type": "object", "properties": {"pid": {"type": "integer"}, memory: {"type": "number"}},
            "required": ["pid", memory]});
        SchemaCandidate::new(SchemaDocument::new(schema, Vec::new()).unwrap())
    };
    bus.register_schema(TOPIC, candidate("mem_mb")).await.unwrap();
    let upcast = Some(".mem_mib = .mem_mb | del(.mem_mb)".to_owned());
    let second = SchemaCandidate { compat: Some(Compat::Upcast), upcast, ..candidate("mem_mib") };
    bus.register_schema(TOPIC, second).await.unwrap();
}

#[tokio::test]
async fn a_payload_that_does_not_fit_is_refused_with_version_pointer_rule_and_value() {
    let scene = Scene::open().await;
    register(&scene.bus()).await;
    let client = scene.client().await;
    let wrong = || NewEvent::new(TopicName::parse(TOPIC).unwrap(), json!({"pid": "one", "mem_mib": 1}));
    let alone = within(client.publish_event(wrong())).await.unwrap_err();
    let batch = within(client.publish_batch(vec![wrong()])).await.unwrap_err();
    // Those that leave in one frame are judged each for itself.
    let together: Vec<_> = (0..3).map(|_| client.publish_event(wrong())).collect();
    let mut refusals = vec![alone, batch];
    for one in together {
        refusals.push(within(one).await.unwrap_err());
    }
    for refused in refusals {
        assert_eq!(refused.code(), Some(ErrorCode::SchemaInvalid), "{refused}");
        let misfit = refused.misfit().unwrap();
        assert_eq!((misfit.version, misfit.pointer.as_str(), misfit.rule.as_str()), (2, "/pid", "type"));
        assert_eq!(misfit.value, "\"one\"");
    }
}

#[tokio::test]
async fn a_normalised_reader_gets_the_latest_form_with_and_without_a_group() {
    let scene = Scene::open().await;
    let client = scene.client().await;
    within(client.publish(TOPIC, json!({"pid": "odd"})).send()).await.unwrap();
    register(&scene.bus()).await;
    within(client.publish(TOPIC, json!({"pid": 1, "mem_mb": 5})).send()).await.unwrap();
    within(client.publish(TOPIC, json!({"pid": 2, "mem_mib": 6})).send()).await.unwrap();
    let latest = [json!({"pid": 1, "mem_mib": 5}), json!({"pid": 2, "mem_mib": 6})];

    let group = client.subscribe(TOPIC, "g").from(Position::Earliest).normalize();
    let mut group = within(group.start()).await.unwrap();
    for (expected, from) in latest.iter().zip([Some("1"), None]) {
        let delivery = within(group.next()).await.unwrap();
        assert_eq!(delivery.payload::<Value>().unwrap(), *expected);
        assert_eq!(delivery.to_event().unwrap().headers.get("x-upcasted-from"), from);
        within(delivery.ack()).await.unwrap();
    }
    let letters = client.tail("dlq.heartbeat.received").from(Position::Earliest);
    let letter: Value = within(within(letters.start()).await.unwrap().next()).await.unwrap().payload().unwrap();
    assert_eq!(letter["original"]["payload"], json!({"pid": "odd"}));

    let mut tail = within(client.tail(TOPIC).from(Position::Earliest).normalize().start()).await.unwrap();
    let odd = within(tail.next()).await.unwrap();
    assert_eq!(odd.payload::<Value>().unwrap(), json!({"pid": "odd"}));
    assert!(odd.to_event().unwrap().headers.get("x-upcast-error").is_some());
    for expected in latest {
        assert_eq!(within(tail.next()).await.unwrap().payload::<Value>().unwrap(), expected);
    }
}

#[tokio::test]
async fn a_dual_write_goes_to_the_topic_of_its_version_too() {
    let scene = Scene::open().await;
    register(&scene.bus()).await;
    let client = scene.client().await;
    let receipt = within(client.publish(TOPIC, json!({"pid": 1, "mem_mb": 5})).dual_write().send()).await.unwrap();
    let copies = client.tail("heartbeat.received.v1").from(Position::Earliest);
    let copy = within(within(copies.start()).await.unwrap().next()).await.unwrap();
    assert_eq!((copy.id(), copy.payload::<Value>().unwrap()), (receipt.id, json!({"pid": 1, "mem_mb": 5})));
}
