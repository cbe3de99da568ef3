//! Group names are one space for all: a group belongs to those who may read what it reads.

use std::sync::Arc;
use std::time::Duration;

use prom_store::{MemoryStore, SystemClock};
use serde_json::{Value, json};

use crate::scene::{Client, Scene, auth};

fn subscribe(topic: &str) -> Value {
    json!({"op": "SUBSCRIBE", "topic": topic, "group": "billing"})
}

/// The owner of the group is connected to one hub, the others to another or to the same.
async fn strangers_cannot_add(at_owner: &Scene, here: &Scene) {
    let mut owner: Client = at_owner.client_with(&["subscribe:orders.**"]).await;
    owner.ok(subscribe("orders.*")).await;
    let mut stranger = here.client_with(&["subscribe:junk.**"]).await;
    let refused = stranger.err("forbidden", subscribe("junk.a")).await;
    assert!(!refused["msg"].as_str().unwrap().contains("orders"), "{refused}");
    stranger.ok(json!({"op": "SUBSCRIBE", "topic": "junk.a", "group": "ours"})).await;
    // One of several subscriptions of the group is not all of it.
    let mut partly = here.client_with(&["subscribe:orders.eu", "subscribe:junk.**"]).await;
    partly.err("forbidden", subscribe("orders.eu")).await;
    // The same again joins; more is added by those who may read everything.
    let mut colleague = here.client_with(&["subscribe:orders.*"]).await;
    colleague.ok(subscribe("orders.*")).await;
    let mut both = here.client_with(&["subscribe:orders.**", "subscribe:junk.**"]).await;
    both.ok(subscribe("junk.b")).await;
    owner.err("forbidden", subscribe("orders.eu.x")).await;
    let group = here.bus.groups().await.unwrap().into_iter().find(|group| group.name.as_str() == "billing").unwrap();
    let topics: Vec<&str> =
        group.subscriptions.iter().flat_map(|one| &one.topics).map(|topic| topic.as_str()).collect();
    assert_eq!(topics, ["orders.*", "junk.b"]);
}

#[tokio::test]
async fn a_group_takes_topics_only_from_those_who_may_read_everything_it_reads() {
    let scene = Scene::protected().await;
    strangers_cannot_add(&scene, &scene).await;
}

#[tokio::test]
async fn so_does_a_group_that_another_hub_serves() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
    let red = Scene::among_others(&store, auth(), Duration::from_secs(10)).await;
    let blue = Scene::among_others(&store, auth(), Duration::from_secs(10)).await;
    strangers_cannot_add(&red, &blue).await;
}

#[tokio::test]
async fn scopes_name_groups() {
    let scene = Scene::protected().await;
    let mut client = scene.client_with(&["subscribe:orders.**@billing-*", "subscribe:invoices@billing"]).await;
    for (topic, group, allowed) in [
        ("orders.*", Some("billing-eu"), true),
        ("orders.placed", Some("billing-"), true),
        ("orders.placed", Some("billing"), false),
        ("orders.placed", Some("bill"), false),
        ("orders.placed", None, false),
        ("invoices", Some("billing"), true),
        ("invoices", Some("billing-eu"), false),
    ] {
        let answer = client.ask(json!({"op": "SUBSCRIBE", "topic": topic, "group": group})).await;
        assert_eq!(answer["op"] == "OK", allowed, "{topic} {group:?}: {answer}");
    }
}
