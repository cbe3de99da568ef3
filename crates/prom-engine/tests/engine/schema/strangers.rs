//! What somebody with rights to a few topics can try by way of schemas.

use prom_engine::{Bus, Caps, Deletion, Error, Reference, SchemaCandidate, SchemaDocument, VERSION_HEADER};
use prom_types::{NewEvent, TopicName};
use serde_json::{Value, json};

use super::{candidate, register};
use crate::support::{World, bus};

fn referring(schema: Value, references: impl IntoIterator<Item = (String, &'static str)>) -> SchemaCandidate {
    let reference = |(name, subject)| Reference { name, subject: TopicName::parse(subject).unwrap(), version: 1 };
    let references = references.into_iter().map(reference).collect();
    SchemaCandidate::new(SchemaDocument::new(schema, references).unwrap())
}

async fn names(bus: &Bus) -> Vec<String> {
    bus.topics().await.unwrap().into_iter().map(|topic| topic.settings.name.to_string()).collect()
}

#[tokio::test]
async fn a_header_that_names_no_registered_version_leads_to_no_other_topic() {
    let bus = bus().await;
    bus.publish("plain", json!(1)).header(VERSION_HEADER, "9.secret").dual_write().await.unwrap();
    register(&bus, "judged", json!({"type": "integer"})).await;
    bus.publish("judged", Value::Null).key("k").header(VERSION_HEADER, "9.secret").dual_write().await.unwrap();
    bus.publish("judged", json!(1)).header(VERSION_HEADER, "01").dual_write().await.unwrap();
    bus.publish("judged", Value::Null).key("k").header(VERSION_HEADER, "1").dual_write().await.unwrap();
    let mut found = names(&bus).await;
    found.retain(|name| !name.starts_with("system."));
    assert_eq!(found, ["judged", "judged.v1", "plain"]);
}

#[tokio::test]
async fn references_to_references_do_not_multiply() {
    let bus = bus().await;
    register(&bus, "level0", json!({"title": "x".repeat(1000)})).await;
    let many = |subject| (0..60).map(move |number| (format!("{subject}-{number}.json"), subject));
    bus.register_schema("level1", referring(json!({}), many("level0"))).await.unwrap();
    let refused = bus.register_schema("level2", referring(json!({}), many("level1"))).await.unwrap_err();
    assert!(refused.to_string().contains("references"), "{refused}");
}

#[tokio::test]
async fn what_a_schema_refers_to_is_not_larger_than_one_may_be() {
    let bus = bus().await;
    register(&bus, "large", json!({"title": "x".repeat(200_000)})).await;
    let many = (0..40).map(|number| (format!("{number}.json"), "large"));
    let refused = bus.register_schema("user", referring(json!({}), many)).await.unwrap_err();
    assert!(refused.to_string().contains("bytes"), "{refused}");
}

/// A start reads deleted versions too, because events of them are still read.
#[tokio::test]
async fn deleting_what_a_deleted_schema_refers_to_does_not_keep_the_bus_from_starting() {
    let world = World::new();
    let bus = world.bus().await;
    register(&bus, "base", json!({"type": "integer"})).await;
    let user = || referring(json!({"$ref": "base.json"}), [("base.json".to_owned(), "base")]);
    bus.register_schema("user", user()).await.unwrap();
    bus.delete_schema_version("user", 1, Deletion::Soft).await.unwrap();
    bus.delete_schema_version("base", 1, Deletion::Soft).await.unwrap();
    let refused = bus.delete_schema_version("base", 1, Deletion::Hard).await.unwrap_err();
    assert!(matches!(refused, Error::SchemaReferred { .. }), "{refused}");
    let again = world.bus().await;
    assert!(again.register_schema("other", user()).await.is_err());
    bus.delete_schema_version("user", 1, Deletion::Hard).await.unwrap();
    bus.delete_schema_version("base", 1, Deletion::Hard).await.unwrap();
    world.bus().await;
}

#[tokio::test]
async fn a_version_that_a_later_one_of_its_topic_refers_to_stays() {
    let bus = bus().await;
    register(&bus, "base", json!({"type": "integer"})).await;
    let second = referring(json!({"$ref": "base.json"}), [("base.json".to_owned(), "base")]);
    bus.register_schema("base", second).await.unwrap();
    let refused = bus.delete_schema_version("base", 1, Deletion::Soft).await.unwrap_err();
    assert!(matches!(refused, Error::SchemaReferred { .. }), "{refused}");
    assert_eq!(bus.delete_schemas("base", Deletion::Soft).await.unwrap(), [1, 2]);
}

#[tokio::test]
async fn of_the_registry_only_what_is_wanted_is_kept() {
    let bus = bus().await;
    for topic in ["ours.a", "ours.b", "theirs"] {
        register(&bus, topic, json!({"title": topic})).await;
    }
    let ours = bus.schemas_where(|entry| entry.topic.starts_with("ours.")).await.unwrap();
    assert_eq!(ours.iter().map(|entry| entry.topic.as_str()).collect::<Vec<_>>(), ["ours.a", "ours.b"]);
    assert_eq!(bus.schemas().await.unwrap().len(), 3);
    assert_eq!(bus.schema_by_id(3).await.unwrap().uses.len(), 1);
}

#[tokio::test]
async fn an_event_that_its_schema_refuses_makes_no_topic() {
    let caps = Caps { topics_per_subject: Some(1), ..Caps::default() };
    let bus = World::new().bus_with(|options| options.caps = caps).await;
    register(&bus, "judged", json!({"type": "integer"})).await;
    let ours = bus.acting_for(Some("ours"));
    ours.publish("judged", json!("text")).await.unwrap_err();
    ours.publish("other", json!(1)).await.unwrap();
}

#[tokio::test]
async fn the_first_event_of_a_topic_is_judged_elsewhere_if_that_takes_long() {
    let bus = bus().await;
    register(&bus, "slow", json!({"type": "string"})).await;
    let long = NewEvent::new(TopicName::parse("slow").unwrap(), json!("x".repeat(900_000)));
    assert!(bus.must_wait(&long));
    bus.publish_event(long).await.unwrap();
}

#[tokio::test]
async fn steps_between_versions_that_cannot_be_are_refused() {
    let bus = bus().await;
    register(&bus, "a", json!({"type": "integer"})).await;
    for from in [0, 7, u32::MAX] {
        bus.set_upcaster("a", from, Some(".".to_owned())).await.unwrap_err();
    }
}

#[tokio::test]
async fn schemas_are_registered_for_no_more_topics_than_there_may_be() {
    let caps = Caps { topics: Some(4), topics_per_subject: Some(2), ..Caps::default() };
    let bus = World::new().bus_with(|options| options.caps = caps).await;
    let ours = bus.acting_for(Some("ours"));
    register(&ours, "a", json!({"type": "integer"})).await;
    register(&ours, "b", json!({"type": "integer"})).await;
    let third = || candidate(json!({"type": "string"}));
    let refused = ours.register_schema("c", third()).await.unwrap_err();
    assert!(matches!(refused, Error::Capped { .. }), "{refused}");
    ours.register_schema("b", candidate(json!(true))).await.unwrap();
    let theirs = bus.acting_for(Some("theirs"));
    theirs.register_schema("c", third()).await.unwrap();
}
