//! Registering versions.

use std::sync::Arc;

use prom_engine::{
    BusOptions, Compat, CompatPolicy, Deletion, Error, Reference, SchemaCandidate, SchemaChoice, SchemaDocument,
    SettingsChange,
};
use prom_types::TopicName;
use serde_json::{Value, json};

use super::{HEARTBEAT, candidate, heartbeat, register, register_heartbeats};
use crate::support::{World, bus};

#[tokio::test]
async fn versions_are_numbered_and_the_same_schema_is_the_same_version() {
    let bus = bus().await;
    let first = register(&bus, "orders", json!({"type": "object"})).await;
    assert_eq!((first.version, first.id, first.existed), (1, 1, false));
    let again = register(&bus, "orders", json!({"type": "object"})).await;
    assert_eq!((again.version, again.id, again.existed), (1, 1, true));
    let elsewhere = register(&bus, "invoices", json!({"type": "object"})).await;
    assert_eq!((elsewhere.version, elsewhere.id), (1, 1), "the same schema has the same id everywhere");
    let second = register(&bus, "orders", json!({"type": ["object", "null"]})).await;
    assert_eq!((second.version, second.id), (2, 2));
    let uses = bus.schema_by_id(1).await.unwrap().uses;
    assert_eq!(
        uses.iter().map(|(topic, version)| (topic.as_str(), *version)).collect::<Vec<_>>(),
        [("invoices", 1), ("orders", 1)]
    );
    let latest = bus.schema_version("orders", SchemaChoice::Latest).await.unwrap();
    assert_eq!((latest.version, latest.document.schema["type"].clone()), (2, json!(["object", "null"])));
}

#[tokio::test]
async fn what_breaks_earlier_versions_is_refused_and_stores_nothing() {
    let bus = bus().await;
    register(&bus, HEARTBEAT, heartbeat("mem_mb")).await;
    let verdict = bus.check_schema(HEARTBEAT, &candidate(heartbeat("mem_mib"))).await.unwrap();
    assert!(!verdict.violations.is_empty());
    let refused = bus.register_schema(HEARTBEAT, candidate(heartbeat("mem_mib"))).await.unwrap_err();
    let Error::SchemaIncompatible { violations, .. } = &refused else { panic!("{refused}") };
    assert!(violations.iter().any(|violation| violation.message.contains("mem_mib")), "{refused}");
    assert!(violations.iter().all(|violation| !violation.fix.is_empty() && violation.against_version == Some(1)));
    assert_eq!(bus.schema(HEARTBEAT).await.unwrap().unwrap().versions.len(), 1);
    let none = SchemaCandidate { compat: Some(Compat::None), ..candidate(heartbeat("mem_mib")) };
    let registered = bus.register_schema(HEARTBEAT, none).await.unwrap();
    assert_eq!(registered.version, 2);
    assert!(registered.notes[0].contains("no upcaster from version 1 to 2"), "{:?}", registered.notes);
}

#[tokio::test]
async fn an_upcast_version_needs_every_step() {
    let bus = bus().await;
    register(&bus, HEARTBEAT, heartbeat("mem_mb")).await;
    let upcast = |program: Option<&str>| SchemaCandidate {
        compat: Some(Compat::Upcast),
        upcast: program.map(str::to_owned),
        ..candidate(heartbeat("mem_mib"))
    };
    let missing = bus.register_schema(HEARTBEAT, upcast(None)).await.unwrap_err().to_string();
    assert!(missing.contains("no upcaster from version 1 to 2"), "{missing}");
    let wrong = bus.register_schema(HEARTBEAT, upcast(Some(".mem_mib |"))).await.unwrap_err().to_string();
    assert!(wrong.contains("not valid jq"), "{wrong}");
    bus.register_schema(HEARTBEAT, upcast(Some(".mem_mib = .mem_mb"))).await.unwrap();
    let kept = bus.set_upcaster(HEARTBEAT, 1, None).await.unwrap_err().to_string();
    assert!(kept.contains("replace it instead"), "{kept}");
    bus.set_upcaster(HEARTBEAT, 1, Some(".mem_mib = .mem_mb | del(.mem_mb)".to_owned())).await.unwrap();
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let world = World::new();
    let bus = world.bus().await;
    register_heartbeats(&bus).await;
    let strict = SettingsChange { policy: Some(CompatPolicy::Strict), ..SettingsChange::default() };
    bus.set_schema_settings(None, strict).await.unwrap();
    drop(bus);
    let bus = world.bus().await;
    let entry = bus.schema(HEARTBEAT).await.unwrap().unwrap();
    assert_eq!((entry.versions.len(), entry.next_version, entry.upcasters.len()), (2, 3, 1));
    assert_eq!(bus.schema_settings(Some(HEARTBEAT)).await.unwrap().policy, CompatPolicy::Strict);
    assert!(matches!(bus.publish(HEARTBEAT, json!({})).await, Err(Error::SchemaInvalid { version: 2, .. })));
}

#[tokio::test]
async fn of_many_that_register_at_once_each_gets_its_own_number() {
    let bus = Arc::new(bus().await);
    let tasks: Vec<_> = (0..50u32)
        .map(|number| {
            let bus = bus.clone();
            // Ten of them are the same as ten others.
            let schema = json!({"title": (number % 40).to_string(), "type": "object"});
            tokio::spawn(async move { bus.register_schema("orders", candidate(schema)).await.unwrap() })
        })
        .collect();
    let mut registered = Vec::new();
    for task in tasks {
        registered.push(task.await.unwrap());
    }
    assert_eq!(registered.iter().filter(|one| one.existed).count(), 10);
    let versions = registered.iter().map(|one| one.version).collect();
    let ids = registered.iter().map(|one| one.id).collect();
    for mut numbers in [versions, ids] as [Vec<u32>; 2] {
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers, (1..=40).collect::<Vec<u32>>());
    }
    let entry = bus.schema("orders").await.unwrap().unwrap();
    assert_eq!(entry.versions.iter().map(|one| one.version).collect::<Vec<_>>(), (1..=40).collect::<Vec<u32>>());
}

/// Each reference copies the other schema, so a few topics that refer to one another many times would make a schema that
/// no memory holds.
#[tokio::test]
async fn references_of_references_are_counted_together() {
    let bus = bus().await;
    register(&bus, "level.0", json!({"type": "string"})).await;
    let referring = |level: usize, times: usize| {
        let reference = |at: usize| Reference {
            name: format!("r{at}.json"),
            subject: TopicName::parse(&format!("level.{}", level - 1)).unwrap(),
            version: 1,
        };
        let schema = json!({"title": level.to_string(), "type": "string"});
        SchemaCandidate::new(SchemaDocument::new(schema, (0..times).map(reference).collect()).unwrap())
    };
    bus.register_schema("level.1", referring(1, 60)).await.unwrap();
    let refused = bus.register_schema("level.2", referring(2, 60)).await.unwrap_err();
    assert!(matches!(refused, Error::SchemaChange { .. }), "{refused}");
    assert!(refused.to_string().contains("more than 64 references"), "{refused}");
    bus.register_schema("level.2", referring(2, 1)).await.unwrap();
}

#[tokio::test]
async fn a_number_is_never_given_twice() {
    let bus = bus().await;
    register(&bus, "orders", json!({"type": "object"})).await;
    let hard = bus.delete_schema_version("orders", 1, Deletion::Hard).await.unwrap_err().to_string();
    assert!(hard.contains("deleted softly"), "{hard}");
    bus.delete_schema_version("orders", 1, Deletion::Soft).await.unwrap();
    bus.publish("orders", json!(7)).await.unwrap();
    bus.delete_schema_version("orders", 1, Deletion::Hard).await.unwrap();
    assert_eq!(register(&bus, "orders", json!({"type": "array"})).await.version, 2);
    assert!(matches!(
        bus.schema_version("orders", SchemaChoice::Version(1)).await,
        Err(Error::UnknownSchema { version: Some(1), .. })
    ));
}

#[tokio::test]
async fn a_schema_that_others_refer_to_stays() {
    let bus = bus().await;
    register(&bus, "address", json!({"type": "object", "required": ["city"]})).await;
    let reference =
        Reference { name: "address.json".to_owned(), subject: TopicName::parse("address").unwrap(), version: 1 };
    let schema = json!({"type": "object", "properties": {"to": {"$ref": "address.json"}}});
    let order = SchemaCandidate::new(SchemaDocument::new(schema, vec![reference]).unwrap());
    bus.register_schema("orders", order).await.unwrap();
    assert!(bus.publish("orders", json!({"to": {"city": "Oslo"}})).await.is_ok());
    assert!(bus.publish("orders", json!({"to": {}})).await.is_err());
    let refused = bus.delete_schema_version("address", 1, Deletion::Soft).await.unwrap_err();
    assert!(matches!(refused, Error::SchemaReferred { version: 1, .. }), "{refused}");
}

#[tokio::test]
async fn what_is_no_schema_or_costs_too_much_is_refused() {
    let bus = bus().await;
    let twice = json!({"anyOf": [{"properties": {"x": {"$ref": "#"}}}, {"properties": {"x": {"$ref": "#"}}}]});
    for bad in [json!({"type": "strung"}), json!({"$ref": "https://example.com/x.json"}), twice, json!({"$ref": "#"})] {
        let refused = bus.register_schema("orders", candidate(bad.clone())).await.unwrap_err();
        assert!(matches!(refused, Error::Schema(_)), "{bad}: {refused}");
    }
    let own = bus.register_schema("dlq.orders", candidate(json!({}))).await.unwrap_err();
    assert!(matches!(own, Error::SchemaChange { .. }), "{own}");
    assert_eq!(bus.schemas().await.unwrap().len(), 0);
}

#[tokio::test]
async fn two_hubs_agree_on_what_is_registered() {
    let world = World::new();
    let (one, other) = (Arc::new(world.bus().await), Arc::new(world.bus().await));
    // In every order each is compatible with the one before, and five are registered at both hubs.
    let tasks: Vec<_> = (0..50u32)
        .map(|number| {
            let hub = if number % 2 == 0 { one.clone() } else { other.clone() };
            let schema = json!({"title": (number % 45).to_string(), "type": "object"});
            tokio::spawn(async move { hub.register_schema("orders", candidate(schema)).await.unwrap().version })
        })
        .collect();
    let mut versions = Vec::new();
    for task in tasks {
        versions.push(task.await.unwrap());
    }
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(versions, (1..=45).collect::<Vec<u32>>());
    crate::support::until(async || one.publish("orders", json!(7)).await.is_err()).await;
    crate::support::until(async || other.publish("orders", json!(7)).await.is_err()).await;
}

#[tokio::test]
async fn settings_for_all_topics_hold_at_every_hub() {
    let world = World::new();
    let (one, other) = (world.bus().await, world.bus().await);
    register(&one, "orders", json!({"type": "object"})).await;
    register(&one, "orders", json!({"type": ["object", "null", "integer"]})).await;
    crate::support::until(async || other.publish("orders", json!(7)).await.is_ok()).await;
    let change = SettingsChange { compat: Some(Compat::None), ..SettingsChange::default() };
    one.set_schema_settings(None, change).await.unwrap();
    let heard = async || other.schema_settings(Some("orders")).await.unwrap().compat == Compat::None;
    crate::support::until(heard).await;
    other.register_schema("orders", candidate(json!({"type": "string"}))).await.unwrap();
}

#[tokio::test]
async fn a_function_of_the_application_is_a_step_too() {
    let world = World::new();
    let rename: prom_engine::UpcastFn = Arc::new(|mut payload: Value| {
        let memory = payload.as_object_mut().and_then(|members| members.remove("mem_mb")).ok_or("no mem_mb")?;
        payload["mem_mib"] = memory;
        Ok(payload)
    });
    let add = |options: &mut BusOptions| {
        options.upcasters.push((TopicName::parse(HEARTBEAT).unwrap(), 1, rename.clone()));
    };
    let bus = world.bus_with(add).await;
    register(&bus, HEARTBEAT, heartbeat("mem_mb")).await;
    bus.publish(HEARTBEAT, json!({"pid": 1, "name": "web", "mem_mb": 3})).await.unwrap();
    let second = SchemaCandidate { compat: Some(Compat::Upcast), ..candidate(heartbeat("mem_mib")) };
    bus.register_schema(HEARTBEAT, second).await.unwrap();
    let events = bus.read(HEARTBEAT, 0, 0, 10).await.unwrap().events;
    let normalized = bus.normalize(events).await.remove(0).unwrap();
    assert_eq!(normalized.payload::<Value>().unwrap()["mem_mib"], 3);
}
