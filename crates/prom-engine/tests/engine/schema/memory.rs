//! Schemas are compiled when they are needed, and put away when others need the room.

use prom_engine::{Bus, Compat, Deletion, Error, SchemaCandidate, VERSION_HEADER};
use prom_store::DocumentWrite;
use prom_types::{NewEvent, TopicName};
use serde_json::{Value, json};

use super::{HEARTBEAT, candidate, heartbeat, register, register_heartbeats};
use crate::support::{World, bus};

fn event(topic: &str, payload: Value) -> NewEvent {
    NewEvent::new(TopicName::parse(topic).unwrap(), payload)
}

fn beat(memory: &str, number: u64) -> Value {
    json!({"pid": 1, "name": "n", memory: number})
}

async fn stamps(bus: &Bus, topic: &str) -> Vec<(u64, String)> {
    let events = bus.read(topic, 0, 0, 100).await.unwrap().events;
    let stamp = |event: &prom_engine::StoredEvent| {
        let payload: Value = event.payload().unwrap();
        let number = payload["mem_mib"].as_u64().or(payload["mem_mb"].as_u64()).unwrap();
        (number, event.headers().get(VERSION_HEADER).unwrap_or("none").to_owned())
    };
    events.iter().map(stamp).collect()
}

/// Overwrites the text of a schema, as a hub finds it whose bounds are narrower than those it was registered under.
async fn replace_text(world: &World, id: u32, schema: Value) {
    let text = json!({"schema": schema, "references": []}).to_string();
    let mut work = world.bus().await.unit_of_work();
    work.write(DocumentWrite::put("schema_texts", &format!("{id:010}"), text));
    work.commit().await.unwrap();
}

#[tokio::test]
async fn a_bus_that_starts_again_judges_as_before_and_keeps_the_order() {
    let world = World::new();
    register_heartbeats(&world.bus().await).await;
    let bus = world.bus().await;
    let of = |memory, number| event(HEARTBEAT, beat(memory, number));
    assert!(bus.must_wait(&of("mem_mb", 0)), "nothing is compiled by a start");
    let one = bus.publish_event(of("mem_mib", 0));
    let many = bus.publish_many(vec![of("mem_mb", 1), event(HEARTBEAT, json!({"pid": 0})), of("mem_mib", 2)]);
    let batch = bus.publish_batch(vec![of("mem_mb", 3), of("mem_mib", 4)]);
    one.await.unwrap();
    let many = many.await;
    assert_eq!(many.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true], "{many:?}");
    assert_eq!(batch.await.unwrap().len(), 2);
    assert!(!bus.must_wait(&of("mem_mb", 5)), "they are in memory now");
    let expected = [(0, "2"), (1, "1"), (2, "2"), (3, "1"), (4, "2")];
    assert_eq!(stamps(&bus, HEARTBEAT).await, expected.map(|(number, version)| (number, version.to_owned())));
}

#[tokio::test]
async fn a_unit_of_work_waits_for_the_schemas_of_its_events() {
    let world = World::new();
    register_heartbeats(&world.bus().await).await;
    let bus = world.bus().await;
    let mut work = bus.unit_of_work();
    work.publish(&event("plain", json!(1))).unwrap();
    work.publish(&event(HEARTBEAT, beat("mem_mb", 1))).unwrap();
    work.publish(&NewEvent { dual_write: true, ..event(HEARTBEAT, beat("mem_mib", 2)) }).unwrap();
    work.publish(&event("plain", json!(2))).unwrap();
    work.write(DocumentWrite::put("invoices", "7", "{}"));
    assert_eq!(work.len(), 4);
    let receipts = work.commit().await.unwrap();
    assert_eq!(receipts.iter().map(|receipt| receipt.offset).collect::<Vec<_>>(), [0, 0, 1, 1]);
    assert_eq!(stamps(&bus, HEARTBEAT).await, [(1, "1".to_owned()), (2, "2".to_owned())]);
    assert_eq!(stamps(&bus, "heartbeat.received.v2").await, [(2, "2".to_owned())]);
    assert!(bus.document("invoices", "7").await.unwrap().is_some());

    let again = world.bus().await;
    let mut refused = again.unit_of_work();
    refused.publish(&event("plain", json!(3))).unwrap();
    refused.publish(&event(HEARTBEAT, json!({"pid": 0}))).unwrap();
    let error = refused.commit().await.unwrap_err();
    assert!(matches!(error, Error::SchemaInvalid { .. }), "{error}");
    assert_eq!(again.bounds("plain").await.unwrap()[0].next, 2, "all of it or nothing");
}

#[tokio::test]
async fn a_version_that_a_hub_does_not_take_any_more_keeps_nobody_else_from_working() {
    let world = World::new();
    let before = world.bus().await;
    register(&before, "apart", json!({"type": "integer"})).await;
    register_heartbeats(&before).await;
    // As id 3, version 2 of the heartbeat.
    replace_text(&world, 3, json!({"pattern": "((a{200}){200}){200}"})).await;
    let bus = world.bus().await;
    bus.publish("apart", json!(1)).await.unwrap();
    bus.publish(HEARTBEAT, beat("mem_mb", 1)).await.unwrap();
    let named = bus.publish(HEARTBEAT, beat("mem_mib", 2)).header(VERSION_HEADER, "2").await.unwrap_err();
    let Error::SchemaInvalid { version: 2, refusal, .. } = &named else { panic!("{named}") };
    assert_eq!(refusal.rule, "usable");
    assert!(refusal.message.contains("delete it"), "{named}");
    let unnamed = bus.publish(HEARTBEAT, beat("mem_mib", 2)).await.unwrap_err();
    assert!(unnamed.to_string().contains("cannot be used"), "{unnamed}");
    assert_eq!(stamps(&bus, HEARTBEAT).await, [(1, "1".to_owned())]);
    let events = bus.read(HEARTBEAT, 0, 0, 1).await.unwrap().events;
    let reason = bus.normalize(events.clone()).await[0].as_ref().unwrap_err().to_string();
    assert!(reason.contains("version 2, the latest, cannot be used"), "{reason}");

    bus.delete_schema_version(HEARTBEAT, 2, Deletion::Soft).await.unwrap();
    assert!(bus.normalize(events).await[0].is_ok());
    let third = SchemaCandidate {
        compat: Some(Compat::None),
        upcast: Some(".mem_mib = .mem_mb | del(.mem_mb)".to_owned()),
        ..candidate(heartbeat("mem_mib"))
    };
    assert_eq!(bus.register_schema(HEARTBEAT, third).await.unwrap().version, 3);
    bus.publish(HEARTBEAT, beat("mem_mib", 3)).await.unwrap();
    assert_eq!(stamps(&bus, HEARTBEAT).await[1], (3, "3".to_owned()));
}

/// A schema that takes about this many MiB in memory, by its length.
fn heavy(mib: usize, number: usize) -> Value {
    let bytes = mib * 1024 * 1024 / prom_schema::limits::MEMORY_PER_SCHEMA_BYTE;
    json!({"type": "integer", "minimum": 1, "title": format!("{number}{}", "x".repeat(bytes))})
}

#[tokio::test]
async fn the_schemas_of_all_topics_together_have_a_bound_and_come_back_when_they_are_needed() {
    let bus = bus().await;
    // 300 MiB.
    for number in 0..75 {
        register(&bus, &format!("t{number}"), heavy(4, number)).await;
    }
    let put_away = |number: usize| bus.must_wait(&event(&format!("t{number}"), json!(1)));
    let gone = (0..75).filter(|number| put_away(*number)).count();
    assert!((11..30).contains(&gone), "{gone}");
    assert!(put_away(0) && !put_away(74), "those that were not used for longest go first");
    for number in 0..75 {
        let topic = format!("t{number}");
        bus.publish(&topic, json!(1)).await.unwrap();
        assert!(bus.publish(&topic, json!(0)).await.is_err());
    }
    assert!((0..75).any(put_away));
}

#[tokio::test]
async fn the_versions_of_a_topic_together_have_a_bound() {
    let bus = bus().await;
    bus.set_schema_settings(
        Some("t"),
        prom_engine::SettingsChange { compat: Some(Compat::None), ..Default::default() },
    )
    .await
    .unwrap();
    for number in 0..7 {
        register(&bus, "t", heavy(8, number)).await;
    }
    let refused = bus.register_schema("t", candidate(heavy(8, 7))).await.unwrap_err();
    assert!(refused.to_string().contains("delete versions that nobody publishes under"), "{refused}");
    bus.delete_schema_version("t", 1, Deletion::Soft).await.unwrap();
    register(&bus, "t", heavy(8, 7)).await;
}
