//! The end of a hub: what is under way is answered, then everybody is told.

use std::sync::Arc;
use std::time::Duration;

use prom_auth::AuthOptions;
use prom_engine::BusOptions;
use prom_gateway::GatewayOptions;
use prom_store::{MemoryStore, SystemClock};
use serde_json::{Value, json};

use crate::scene::{PATIENCE, Scene};

async fn scene(drain_timeout: Duration) -> Scene {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
    let options = BusOptions { drain_timeout, ..BusOptions::default() };
    Scene::over(store, options, AuthOptions::default(), GatewayOptions::default()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_was_sent_is_answered_and_then_the_hub_goes_away() {
    let scene = scene(Duration::from_millis(100)).await;
    let (mut busy, mut idle) = (scene.client().await, scene.client().await);
    idle.ok(json!({"op": "SUBSCRIBE", "topic": "b"})).await;
    busy.ok(json!({"op": "SUBSCRIBE", "topic": "b", "group": "g"})).await;
    for n in 0..300 {
        busy.send(json!({"op": "PUBLISH", "topic": "a", "payload": n, "corr": n})).await;
    }
    assert_eq!(busy.frame().await["corr"], 0);
    let bus = scene.bus.clone();
    let ending = tokio::spawn(scene.server.shut_down());
    let (frames, close) = busy.last_words().await;
    assert_eq!(close, Some(1001));
    // What the hub had read is answered, in order; the rest it never saw.
    let answers: Vec<&Value> = frames.iter().filter(|frame| frame.get("corr").is_some()).collect();
    for (at, answer) in answers.iter().enumerate() {
        assert_eq!(answer["corr"], at + 1);
        assert!(answer["op"] == "OK" || answer["code"] == "overloaded", "{answer}");
    }
    let stored = answers.iter().filter(|answer| answer["op"] == "OK").count() + 1;
    assert_eq!(bus.meters().topics[0].published as usize, stored, "nothing is stored without a word");
    assert_eq!(idle.last_words().await.1, Some(1001));
    tokio::time::timeout(PATIENCE, ending).await.unwrap().unwrap().unwrap();
    assert!(bus.publish("a", json!(1)).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_may_finish_what_it_holds() {
    let scene = scene(Duration::from_secs(10)).await;
    let mut client = scene.client().await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "a", "group": "g"})).await;
    scene.bus.publish("a", json!(1)).await.unwrap();
    let held = client.event().await;
    let begin = std::time::Instant::now();
    let ending = tokio::spawn(scene.server.shut_down());
    // Until the bus drains, publishing is refused: then the end has begun.
    while client.ask(json!({"op": "PUBLISH", "topic": "b", "payload": 2})).await["code"] != "overloaded" {}
    client.ack(&held).await;
    assert_eq!(client.last_words().await.1, Some(1001));
    tokio::time::timeout(PATIENCE, ending).await.unwrap().unwrap().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(8), "it waited although nothing was held any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_listen_does_not_hold_the_hub_up() {
    let scene = scene(Duration::from_millis(100)).await;
    let mut raw = crate::raw::Raw::client(&scene).await;
    raw.send(json!({"op": "SUBSCRIBE", "topic": "a"})).await;
    for _ in 0..300 {
        scene.bus.publish("a", json!("x".repeat(100_000))).await.unwrap();
    }
    tokio::time::timeout(PATIENCE, scene.server.shut_down()).await.expect("in time").unwrap();
    drop(raw);
}
