//! Reading every version as the latest one.

use prom_engine::{Position, SchemaCandidate, UPCAST_ERROR, UPCASTED_FROM, VERSION_HEADER};
use prom_types::Json;
use serde_json::{Value, json};

use super::{HEARTBEAT, candidate, heartbeat, register, register_heartbeats};
use crate::support::{bus, floor, next, until};

#[tokio::test]
async fn a_subscriber_gets_every_version_as_the_latest() {
    let bus = bus().await;
    // Before any schema: it counts as version 1.
    bus.publish(HEARTBEAT, json!({"pid": 7, "name": "old", "mem_mb": 1})).key("k").await.unwrap();
    register_heartbeats(&bus).await;
    bus.publish(HEARTBEAT, json!({"pid": 8, "name": "web", "mem_mb": 2})).header("x-source", "a").await.unwrap();
    bus.publish(HEARTBEAT, json!({"pid": 9, "name": "web", "mem_mib": 3})).tag("t").await.unwrap();
    let mut events = bus.subscribe(HEARTBEAT, "g").from(Position::Earliest).normalize().start().await.unwrap();
    for (pid, upcasted_from) in [(7, Some("1")), (8, Some("1")), (9, None)] {
        let delivery = next(&mut events).await;
        let payload: Value = delivery.payload().unwrap();
        assert_eq!((&payload["pid"], &payload["mem_mib"]), (&json!(pid), &json!(pid - 6)));
        assert!(payload.get("mem_mb").is_none());
        let headers = delivery.headers();
        assert_eq!((headers.get(VERSION_HEADER), headers.get(UPCASTED_FROM)), (Some("2"), upcasted_from));
        let event = delivery.to_event().unwrap();
        match pid {
            7 => assert_eq!(event.key.as_deref(), Some("k")),
            8 => assert_eq!(headers.get("x-source"), Some("a")),
            _ => assert_eq!(event.tags, ["t"]),
        }
        delivery.ack().await.unwrap();
    }
    assert_eq!(floor(&bus, HEARTBEAT, "g").await, 3);
    // A subscriber that does not ask for it gets what is stored.
    let mut plain = bus.subscribe(HEARTBEAT, "plain").from(Position::Earliest).start().await.unwrap();
    assert_eq!(next(&mut plain).await.payload::<Value>().unwrap()["mem_mb"], 1);
}

#[tokio::test]
async fn what_cannot_be_upcast_goes_to_the_dead_letters_and_the_rest_flows() {
    let bus = bus().await;
    for number in 0..20 {
        let payload = if number == 7 {
            json!({"pid": "seven", "name": "w", "mem_mb": 1})
        } else {
            json!({"pid": number + 1, "name": "w", "mem_mb": 1})
        };
        bus.publish(HEARTBEAT, payload).await.unwrap();
    }
    register_heartbeats(&bus).await;
    let mut events = bus.subscribe(HEARTBEAT, "g").from(Position::Earliest).normalize().start().await.unwrap();
    for _ in 0..19 {
        next(&mut events).await.ack().await.unwrap();
    }
    until(async || floor(&bus, HEARTBEAT, "g").await == 20).await;
    let letters = bus.read(&format!("dlq.{HEARTBEAT}"), 0, 0, 10).await.unwrap().events;
    assert_eq!(letters.len(), 1);
    let letter: Value = letters[0].payload().unwrap();
    assert_eq!(letter["original"]["payload"]["mem_mb"], 1, "the letter holds what is stored");
    let reason = letter["err"].as_str().unwrap();
    assert!(reason.contains("version 2") && reason.contains("/pid"), "{reason}");
}

/// What a publisher of a version sends; as version 3 has it, whatever the version.
fn beat(number: u64, version: u64) -> Value {
    let (name, memory) = (format!("worker-{}", number % 7), 0.5 + (number % 100) as f64);
    match version {
        1 => json!({"pid": number + 1, "name": name, "mem_mb": memory}),
        2 => json!({"pid": number + 1, "name": name, "mem_mib": memory}),
        _ => json!({"pid": number + 1, "origin": {"name": name}, "mem_mib": memory}),
    }
}

#[tokio::test]
async fn thousands_of_three_versions_equal_what_is_made_by_hand_and_a_corrupted_one_holds_up_nothing() {
    const EVENTS: u64 = 3000;
    const CORRUPTED: u64 = 5;
    let bus = bus().await;
    for number in 0..10 {
        let payload = if number == CORRUPTED { json!({"pid": "corrupted"}) } else { beat(number, 1) };
        bus.publish(HEARTBEAT, payload).await.unwrap();
    }
    register_heartbeats(&bus).await;
    let third = json!({"type": "object", "properties": {"pid": {"type": "integer"}, "mem_mib": {"type": "number"},
        "origin": {"type": "object", "required": ["name"]}}, "required": ["pid", "mem_mib", "origin"]});
    let upcast = Some(".origin = {name: .name} | del(.name)".to_owned());
    let third = SchemaCandidate { compat: Some(prom_engine::Compat::Upcast), upcast, ..candidate(third) };
    bus.register_schema(HEARTBEAT, third).await.unwrap();
    let topic = prom_types::TopicName::parse(HEARTBEAT).unwrap();
    let later = (10..EVENTS).map(|number| prom_types::NewEvent::new(topic.clone(), beat(number, number % 3 + 1)));
    bus.publish_batch(later.collect()).await.unwrap();

    let mut events = bus.subscribe(HEARTBEAT, "g").from(Position::Earliest).normalize().start().await.unwrap();
    for number in (0..EVENTS).filter(|number| *number != CORRUPTED) {
        let delivery = next(&mut events).await;
        assert_eq!(delivery.payload::<Value>().unwrap(), beat(number, 3));
        let version = if number < 10 { 1 } else { number % 3 + 1 };
        let from = (version < 3).then(|| version.to_string());
        assert_eq!(delivery.headers().get(UPCASTED_FROM), from.as_deref(), "of event {number}");
        assert_eq!(delivery.headers().get(VERSION_HEADER), Some("3"));
        delivery.ack().await.unwrap();
    }
    until(async || floor(&bus, HEARTBEAT, "g").await == EVENTS).await;
    let letters = bus.read(&format!("dlq.{HEARTBEAT}"), 0, 0, 10).await.unwrap().events;
    let letters: Vec<Value> = letters.iter().map(|letter| letter.payload().unwrap()).collect();
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0]["original"]["offset"], CORRUPTED);
    assert!(letters[0]["err"].as_str().unwrap().contains("version 3"), "{}", letters[0]["err"]);
}

#[tokio::test]
async fn a_tail_shows_the_latest_form_and_marks_what_has_none() {
    let bus = bus().await;
    bus.publish(HEARTBEAT, json!({"pid": "seven"})).await.unwrap();
    register_heartbeats(&bus).await;
    bus.publish(HEARTBEAT, json!({"pid": 8, "name": "web", "mem_mb": 2})).await.unwrap();
    let mut tail = bus.tail(HEARTBEAT).from(Position::Earliest).normalize().start().await.unwrap();
    let odd = tail.next().await.unwrap().unwrap();
    assert_eq!(odd.payload::<Value>().unwrap(), json!({"pid": "seven"}));
    assert!(odd.headers().get(UPCAST_ERROR).is_some());
    let upcast = tail.next().await.unwrap().unwrap();
    assert_eq!(upcast.payload::<Value>().unwrap(), json!({"pid": 8, "name": "web", "mem_mib": 2}));
    assert_eq!(upcast.headers().get(UPCASTED_FROM), Some("1"));
}

#[tokio::test]
async fn a_version_that_accepts_what_the_one_before_did_needs_no_step() {
    let bus = bus().await;
    let mut second = heartbeat("mem_mb");
    register(&bus, HEARTBEAT, second.clone()).await;
    let long = r#"{"pid": 1, "name": "web", "mem_mb": 1234567890.12345678901234567890}"#;
    bus.publish(HEARTBEAT, Json::parse(long).unwrap()).await.unwrap();
    second["properties"]["host"] = json!({"type": "string"});
    register(&bus, HEARTBEAT, second).await;
    let events = bus.read(HEARTBEAT, 0, 0, 10).await.unwrap().events;
    let stored = events[0].json();
    let normalized = bus.normalize(events).await.remove(0).unwrap();
    assert_eq!(normalized.json(), stored, "to the letter");
    assert_eq!(normalized.headers().get(UPCASTED_FROM), Some("1"));
}

#[tokio::test]
async fn a_missing_step_is_an_error_that_names_it() {
    let bus = bus().await;
    register(&bus, HEARTBEAT, heartbeat("mem_mb")).await;
    bus.publish(HEARTBEAT, json!({"pid": 1, "name": "web", "mem_mb": 3})).await.unwrap();
    let none = SchemaCandidate { compat: Some(prom_engine::Compat::None), ..candidate(heartbeat("mem_mib")) };
    bus.register_schema(HEARTBEAT, none).await.unwrap();
    let events = bus.read(HEARTBEAT, 0, 0, 10).await.unwrap().events;
    let told = bus.normalize(events.clone()).await.remove(0).unwrap_err().to_string();
    assert_eq!(told, "there is no upcaster from version 1 to 2");
    let marked = bus.normalize_or_mark(events).await.remove(0);
    assert_eq!(marked.headers().get(UPCAST_ERROR), Some(told.as_str()));
    assert_eq!(marked.payload::<Value>().unwrap()["mem_mb"], 3);
}
