//! Caps per subject: what a narrow token may make, and how many subscriptions it may have.

use std::sync::Arc;

use prom_engine::{BusOptions, Caps, SchemaCandidate, SchemaDocument};
use prom_gateway::GatewayOptions;
use prom_store::{MemoryStore, SystemClock};
use serde_json::{Value, json};

use crate::scene::{Client, Scene, auth, token, until};

async fn capped() -> Scene {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
    let caps = Caps { topics_per_subject: Some(2), groups_per_subject: Some(1), ..Caps::default() };
    let options = GatewayOptions { subscriptions_per_subject: Some(2), ..GatewayOptions::default() };
    Scene::over(store, BusOptions { caps, ..BusOptions::default() }, auth(), options).await
}

async fn client_of(scene: &Scene, subject: &str) -> Client {
    let mut client = scene.connect().await;
    client.ok(json!({"op": "AUTH", "token": token(subject, &["publish:a.**", "subscribe:a.**"])})).await;
    client
}

fn refused(answer: &Value, names: &str) {
    assert_eq!((&answer["op"], &answer["code"]), (&json!("ERR"), &json!("forbidden")), "{answer}");
    assert!(answer["msg"].as_str().unwrap().contains(names), "{answer}");
}

#[tokio::test]
async fn a_subject_makes_no_more_topics_than_it_may() {
    let scene = capped().await;
    let mut alpha = client_of(&scene, "alpha").await;
    let publish = |topic: &str| json!({"op": "PUBLISH", "topic": topic, "payload": 1});
    alpha.ok(publish("a.1")).await;
    alpha.ok(publish("a.2")).await;
    refused(&alpha.ask(publish("a.3")).await, "subject alpha may make 2 topics");
    let events = ["a.1", "a.4"].map(|topic| json!({"topic": topic, "payload": 1}));
    let batch = json!({"op": "PUBLISH", "atomic": true, "events": events});
    refused(&alpha.ask(batch).await, "`topics_per_subject`");
    alpha.ok(publish("a.2")).await;
    let mut again = client_of(&scene, "alpha").await;
    refused(&again.ask(publish("a.3")).await, "topics_per_subject");
    client_of(&scene, "beta").await.ok(publish("a.3")).await;
    alpha.ok(publish("a.3")).await;
}

#[tokio::test]
async fn a_subject_makes_no_more_groups_than_it_may_and_joins_those_of_others() {
    let scene = capped().await;
    let subscribe = |group: &str| json!({"op": "SUBSCRIBE", "topic": "a.**", "group": group});
    let mut alpha = client_of(&scene, "alpha").await;
    alpha.ok(subscribe("ours")).await;
    refused(&alpha.ask(subscribe("more")).await, "subject alpha may make 1 groups");
    client_of(&scene, "beta").await.ok(subscribe("theirs")).await;
    alpha.ok(subscribe("theirs")).await;
}

#[tokio::test]
async fn a_subject_has_no_more_subscriptions_than_it_may_over_all_its_connections() {
    let scene = capped().await;
    let (mut one, mut other) = (client_of(&scene, "alpha").await, client_of(&scene, "alpha").await);
    one.ok(json!({"op": "SUBSCRIBE", "topic": "a.1", "group": "g"})).await;
    other.ok(json!({"op": "SUBSCRIBE", "topic": "a.1"})).await;
    let more = json!({"op": "SUBSCRIBE", "topic": "a.2"});
    refused(&one.ask(more.clone()).await, "raise `subscriptions_per_subject`");
    client_of(&scene, "beta").await.ok(more.clone()).await;
    drop(other);
    let one = tokio::sync::Mutex::new(one);
    until("the end of a connection makes room", async || one.lock().await.ask(more.clone()).await["op"] == "OK").await;
}

/// A batch with an event that its schema judges elsewhere is published by another way.
#[tokio::test]
async fn events_that_wait_for_their_schema_make_no_more_topics_than_their_subject_may() {
    let scene = capped().await;
    let schema = SchemaDocument::new(json!({"type": "string"}), Vec::new()).unwrap();
    scene.bus.register_schema("a.judged", SchemaCandidate::new(schema)).await.unwrap();
    let mut alpha = client_of(&scene, "alpha").await;
    let slow = json!({"topic": "a.judged", "payload": "x".repeat(500_000)});
    let others = (1..=3).map(|number| json!({"topic": format!("a.{number}"), "payload": 1}));
    let events: Vec<Value> = std::iter::once(slow).chain(others).collect();
    let answer = alpha.ok(json!({"op": "PUBLISH", "events": events})).await;
    let refused = answer["results"].as_array().unwrap().iter().filter(|result| result["code"] == "forbidden").count();
    assert_eq!(refused, 2, "{answer}");
}
