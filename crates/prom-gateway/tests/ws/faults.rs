//! A store that cannot: what clients are told, and that nothing is claimed to be stored.

use std::sync::Arc;

use prom_auth::AuthOptions;
use prom_engine::{BusOptions, NewTopics, TopicSettings};
use prom_gateway::GatewayOptions;
use prom_store::{MemoryStore, SystemClock};
use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, RealDisk};
use prom_testkit::{FaultyDisk, Place};
use serde_json::json;

use crate::scene::Scene;

#[tokio::test]
async fn a_full_disk_refuses_publishes_and_says_that_nothing_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let (disk, faults) = FaultyDisk::over(Arc::new(RealDisk));
    let options = EmbeddedOptions { disk: Arc::new(disk), ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open_with(dir.path(), options).await.unwrap();
    let scene = Scene::over(store, BusOptions::default(), AuthOptions::default(), GatewayOptions::default()).await;
    let mut client = scene.client().await;
    let publish = |n: u64| json!({"op": "PUBLISH", "topic": "a", "payload": n});
    assert_eq!(client.ok(publish(0)).await["durability"], "fsync");
    faults.fill_up(Place::Everywhere, 0);
    let refused = client.err("publish_failed", publish(1)).await;
    assert!(refused["stored"] == "no" || refused["stored"] == "unknown", "{refused}");
    faults.heal();
    assert_eq!(scene.bus.read("a", 0, 0, 10).await.unwrap().events.len(), 1);
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
