//! GAP: events that should have come and are gone.

use prom_engine::TopicSettings;
use serde_json::json;

use crate::scene::Scene;

#[tokio::test]
async fn a_subscriber_that_retention_overtakes_is_told_what_it_missed() {
    let scene = Scene::open().await;
    scene.bus.create_topic(TopicSettings::new("a.b").unwrap().retain_bytes(2000)).await.unwrap();
    let mut client = scene.client().await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "a.*", "group": "g", "opts": {"maxInFlight": 2}})).await;
    for n in 0..200 {
        scene.bus.publish("a.b", json!(n)).await.unwrap();
    }
    let first = client.event().await;
    assert_eq!(client.event().await["event"]["payload"], 1);
    scene.bus.retain_now().await.unwrap();
    let gap = client.frame().await;
    assert_eq!((&gap["op"], &gap["topic"], &gap["group"]), (&json!("GAP"), &json!("a.*"), &json!("g")));
    assert_eq!((&gap["event_topic"], &gap["partition"], &gap["from"]), (&json!("a.b"), &json!(0), &json!(0)));
    let kept_from = scene.bus.read("a.b", 0, 0, 1).await.unwrap().bounds.start;
    assert_eq!(gap["to"], kept_from);
    assert!(gap["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{gap}");
    client.send(json!({"op": "ACK", "topic": "a.b", "group": "g", "id": first["event"]["id"]})).await;
    let mut frames = Vec::new();
    while !frames.iter().any(|frame: &serde_json::Value| frame["op"] == "EVENT") {
        frames.push(client.frame().await);
    }
    let next = frames.iter().find(|frame| frame["op"] == "EVENT").unwrap();
    assert_eq!(next["event"]["offset"], kept_from, "the group goes on where the log begins now");
}

#[tokio::test]
async fn a_subscriber_that_begins_before_the_start_is_told_first_with_and_without_a_group() {
    let scene = Scene::open().await;
    scene.bus.create_topic(TopicSettings::new("a.b").unwrap().retain_bytes(2000)).await.unwrap();
    for n in 0..200 {
        scene.bus.publish("a.b", json!(n)).await.unwrap();
    }
    scene.bus.retain_now().await.unwrap();
    let start = scene.bus.read("a.b", 0, 0, 1).await.unwrap().bounds.start;
    for (group, mode) in [(Some("g"), "shared"), (Some("h"), "partitioned"), (None, "shared")] {
        let mut client = scene.client().await;
        let mut subscribe = json!({"op": "SUBSCRIBE", "topic": "a.b", "opts": {"from": "offset", "offset": 3}});
        if let Some(group) = group {
            subscribe["group"] = json!(group);
            subscribe["opts"]["mode"] = json!(mode);
        }
        client.ok(subscribe).await;
        let gap = client.frame().await;
        assert_eq!((&gap["op"], &gap["from"], &gap["to"]), (&json!("GAP"), &json!(3), &json!(start)), "{mode}: {gap}");
        assert_eq!(gap["group"].as_str(), group);
        assert_eq!(client.event().await["event"]["offset"], start);
    }
}
