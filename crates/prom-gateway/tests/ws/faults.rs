//! A store that cannot: what clients are told, and that nothing is claimed to be stored.

use std::sync::Arc;

use prom_auth::AuthOptions;
use prom_engine::{BusOptions, NewTopics, TopicSettings};
use prom_gateway::GatewayOptions;
use prom_store::{MemoryStore, SystemClock};
use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, RealDisk};
use prom_testkit::{FailsOn, FaultScope, Faults, FaultyDisk};
use serde_json::json;

use crate::scene::Scene;

/// A hub whose disk fails when it is told to.
async fn on_a_bad_disk(dir: &std::path::Path) -> (Scene, Arc<Faults>) {
    let (disk, faults) = FaultyDisk::over(Arc::new(RealDisk));
    let options = EmbeddedOptions { disk: Arc::new(disk), ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open_with(dir, options).await.unwrap();
    let scene = Scene::over(store, BusOptions::default(), AuthOptions::default(), GatewayOptions::default()).await;
    (scene, faults)
}

#[tokio::test]
async fn a_full_disk_refuses_publishes_and_says_that_nothing_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let (scene, faults) = on_a_bad_disk(dir.path()).await;
    let mut client = scene.client().await;
    let publish = json!({"op": "PUBLISH", "topic": "a", "payload": "x".repeat(500_000)});
    assert_eq!(client.ok(publish.clone()).await["durability"], "fsync");
    faults.fill_up(FaultScope::Everywhere, 0);
    // The room that was set aside beforehand is used first.
    let mut stored = 1;
    let refused = loop {
        let answer = client.ask(publish.clone()).await;
        if answer["op"] == "OK" {
            stored += 1
        } else {
            break answer;
        }
        assert!(stored < 1000, "the disk is not full");
    };
    assert_eq!((&refused["code"], &refused["stored"]), (&json!("publish_failed"), &json!("no")), "{refused}");
    faults.heal();
    assert_eq!(scene.bus.read("a", 0, 0, 1000).await.unwrap().bounds.next, stored);
}

#[tokio::test]
async fn a_sync_that_fails_leaves_it_open_whether_the_event_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let (scene, faults) = on_a_bad_disk(dir.path()).await;
    let mut client = scene.client().await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "a", "group": "g"})).await;
    scene.bus.publish("a", json!(0)).await.unwrap();
    let held = client.event().await;
    faults.fail_syncs(FaultScope::Journal, FailsOn::Every);
    let refused = client.err("publish_failed", json!({"op": "PUBLISH", "topic": "a", "payload": 1})).await;
    assert_eq!(refused["stored"], "unknown", "{refused}");
    let ack = json!({"op": "ACK", "topic": "a", "group": "g", "id": held["event"]["id"]});
    client.err("ack_failed", ack).await;
}

#[tokio::test]
async fn a_bus_that_is_closed_is_overloaded_for_its_clients() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    scene.bus.shutdown().await.unwrap();
    client.err("overloaded", json!({"op": "PUBLISH", "topic": "a", "payload": 1})).await;
    client.err("overloaded", json!({"op": "SUBSCRIBE", "topic": "a", "group": "g"})).await;
    client.err("overloaded", json!({"op": "PUBLISH", "events": [{"topic": "a", "payload": 1}], "atomic": true})).await;
}

#[tokio::test]
async fn where_topics_are_not_made_on_first_publish_an_unknown_one_is_refused() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
    let options = BusOptions { new_topics: NewTopics::Refuse, ..BusOptions::default() };
    let scene = Scene::over(store, options, AuthOptions::default(), GatewayOptions::default()).await;
    scene.bus.create_topic(TopicSettings::new("known").unwrap()).await.unwrap();
    let mut client = scene.client().await;
    client.err("unknown_topic", json!({"op": "PUBLISH", "topic": "unknown", "payload": 1})).await;
    client.ok(json!({"op": "PUBLISH", "topic": "known", "payload": 1})).await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "unknown", "group": "g"})).await;
    let after = json!({"afterId": "0192f0c1-2345-7abc-8def-0123456789ab"});
    client.err("unknown_topic", json!({"op": "SUBSCRIBE", "topic": "known", "opts": after})).await;
}
