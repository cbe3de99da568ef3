//! Partitions with owners, frame by frame.

use std::collections::BTreeSet;
use std::time::Duration;

use prom_engine::{Bus, TopicSettings};
use serde_json::{Value, json};

use crate::raw::Raw;
use crate::scene::{Scene, until};

async fn divided() -> Scene {
    let scene = Scene::open().await;
    scene.bus.create_topic(TopicSettings::new("orders").unwrap().partitions(4)).await.unwrap();
    scene
}

fn subscribe(member: &str, more: Value) -> Value {
    let mut opts = json!({"mode": "partitioned", "from": "earliest", "memberId": member});
    opts.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"op": "SUBSCRIBE", "topic": "orders", "group": "g", "opts": opts})
}

async fn owned(bus: &Bus, member: &str) -> BTreeSet<u32> {
    let Ok(Some(owners)) = bus.partition_owners("orders", "g").await else { return BTreeSet::new() };
    if owners.partitions.iter().any(|one| one.moving_to.is_some()) {
        return BTreeSet::new();
    }
    let theirs = owners.partitions.iter().filter(|one| one.owner.as_deref() == Some(member));
    theirs.map(|one| one.partition).collect()
}

fn partitions(frame: &Value) -> BTreeSet<u32> {
    serde_json::from_value(frame["partitions"].clone()).unwrap()
}

#[tokio::test]
async fn a_member_that_asked_is_told_of_its_partitions_before_their_events_and_when_they_go() {
    let scene = divided().await;
    let mut alpha = scene.client().await;
    alpha.ok(subscribe("alpha", json!({"assignments": true}))).await;
    let mut mine = BTreeSet::new();
    while mine.len() < 4 {
        let told = alpha.frame().await;
        assert_eq!((&told["op"], &told["event_topic"]), (&json!("ASSIGNED"), &json!("orders")), "{told}");
        mine.extend(partitions(&told));
    }
    scene.bus.publish("orders", json!(1)).partition(2).await.unwrap();
    let event = alpha.event().await;
    alpha.ack(&event).await;
    let mut beta = scene.client().await;
    beta.ok(subscribe("beta", json!({}))).await;
    while mine.len() > 2 {
        let told = alpha.frame().await;
        assert_eq!((&told["op"], &told["group"]), (&json!("REVOKED"), &json!("g")), "{told}");
        mine.retain(|one| !partitions(&told).contains(one));
    }
    until("beta has the rest", || async { owned(&scene.bus, "beta").await.len() == 2 }).await;
    assert_eq!(owned(&scene.bus, "alpha").await, mine);
    for partition in owned(&scene.bus, "beta").await {
        scene.bus.publish("orders", json!(2)).partition(partition).await.unwrap();
        let event = beta.event().await;
        assert_eq!(event["event"]["partition"], partition, "beta did not ask and hears of events alone");
        beta.ack(&event).await;
    }
}

#[tokio::test]
async fn a_silent_member_loses_its_partitions_though_its_socket_is_open_and_its_acks_are_fenced() {
    let scene = divided().await;
    for partition in 0..4 {
        scene.bus.publish("orders", json!(partition)).partition(partition).await.unwrap();
    }
    let mut mute = Raw::client(&scene).await;
    mute.send(subscribe("mute", json!({"ttlMs": 400, "maxInFlight": 1}))).await;
    assert_eq!(mute.frame().await["op"], "OK");
    let held = mute.frame().await;
    assert_eq!(held["op"], "EVENT", "{held}");
    let mut other = scene.client().await;
    other.ok(subscribe("other", json!({}))).await;
    // Only the other one is read from and answers pings.
    let mut seen = BTreeSet::new();
    while seen.len() < 4 {
        let event = other.event().await;
        seen.insert(event["event"]["partition"].as_u64().unwrap());
        if seen.len() < 4 || event["event"]["id"] != held["event"]["id"] {
            continue;
        }
    }
    assert_eq!(owned(&scene.bus, "other").await.len(), 4);
    let ended = mute.frame().await;
    assert_eq!(
        (&ended["op"], &ended["code"], &ended["topic"]),
        (&json!("ERR"), &json!("fenced"), &json!("orders")),
        "{ended}"
    );
    mute.send(json!({"op": "ACK", "topic": "orders", "group": "g", "id": held["event"]["id"]})).await;
    let refused = mute.frame().await;
    assert_eq!((&refused["op"], &refused["code"]), (&json!("ERR"), &json!("fenced")), "{refused}");
    mute.send(subscribe("mute", json!({}))).await;
    assert_eq!(mute.frame().await["op"], "OK", "it may join again");
}

#[tokio::test]
async fn a_member_that_only_answers_pings_stays() {
    let scene = divided().await;
    let mut quiet = scene.client().await;
    quiet.ok(subscribe("quiet", json!({"ttlMs": 400}))).await;
    let begin = std::time::Instant::now();
    while begin.elapsed() < Duration::from_millis(1500) {
        let next = tokio::time::timeout(Duration::from_millis(20), futures::StreamExt::next(&mut quiet.socket)).await;
        assert!(!matches!(next, Ok(None | Some(Err(_)))), "{next:?}");
    }
    assert_eq!(owned(&scene.bus, "quiet").await.len(), 4);
}

#[tokio::test]
async fn options_that_cannot_be_are_refused_and_change_nothing() {
    let scene = divided().await;
    let mut client = scene.client().await;
    let refused = [
        json!({"partitions": 9}),
        json!({"weight": 1001}),
        json!({"ttlMs": 1}),
        json!({"ttl_ms": 1}),
        json!({"pin": ["a"]}),
        json!({"assignments": "yes"}),
        json!({"memberId": ""}),
        json!({"meta": "m".repeat(5000)}),
    ];
    for options in refused {
        client.err("bad_request", subscribe("m", options)).await;
    }
    let without_group = json!({"op": "SUBSCRIBE", "topic": "orders", "opts": {"mode": "partitioned"}});
    client.err("bad_request", without_group).await;
    assert!(scene.bus.groups().await.unwrap().is_empty());
}
