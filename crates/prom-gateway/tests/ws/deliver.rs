//! From SUBSCRIBE to the settled event.

use serde_json::json;

use crate::scene::Scene;

#[tokio::test]
async fn a_nacked_event_comes_again_with_attempt_2_and_an_acked_one_does_not() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    let subscribe = json!({"op": "SUBSCRIBE", "topic": "a.*", "group": "g",
        "opts": {"from": "earliest", "backoff": {"firstMs": 1, "maxMs": 1}}});
    client.ok(subscribe).await;
    let receipt = client.ok(json!({"op": "PUBLISH", "topic": "a.b", "payload": 7})).await;
    let first = client.event().await;
    assert_eq!((&first["topic"], &first["group"]), (&json!("a.*"), &json!("g")));
    assert_eq!(first["event"]["topic"], "a.b");
    assert_eq!(first["event"]["id"], receipt["id"]);
    assert_eq!(first["ctx"]["attempt"], 1);
    assert_eq!(first["ctx"]["max_attempts"], 5);
    client.ok(json!({"op": "NACK", "topic": "a.*", "group": "g", "id": receipt["id"], "reason": "no"})).await;
    let second = client.event().await;
    assert_eq!(second["ctx"]["attempt"], 2);
    let ack = json!({"op": "ACK", "topic": "a.b", "group": "g", "id": receipt["id"]});
    client.ok(ack.clone()).await;
    client.ok(ack).await;
    assert_eq!(scene.bus.cursor("a.b", "g").await.unwrap()[0].offset, 1);
}

#[tokio::test]
async fn leases_go_back_at_once_when_a_connection_ends() {
    let scene = Scene::open().await;
    let subscribe = json!({"op": "SUBSCRIBE", "topic": "a", "group": "g", "opts": {"from": "earliest"}});
    let mut first = scene.client().await;
    first.ok(subscribe.clone()).await;
    first.ok(json!({"op": "PUBLISH", "topic": "a", "payload": 1})).await;
    first.event().await;
    drop(first);
    let mut second = scene.client().await;
    second.ok(subscribe).await;
    assert_eq!(second.event().await["ctx"]["attempt"], 1, "a return is not an attempt");
}

#[tokio::test]
async fn a_client_that_batches_gets_many_events_in_a_frame_and_acks_them_by_range() {
    let scene = Scene::open().await;
    for n in 0..50 {
        scene.bus.publish("a", json!(n)).await.unwrap();
    }
    let mut client = scene.connect().await;
    client.ok(json!({"op": "AUTH", "features": ["batch", "other"]})).await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "a", "group": "g", "opts": {"from": "earliest"}})).await;
    let mut seen = 0;
    while seen < 50 {
        let frame = client.frame().await;
        assert_eq!(frame["op"], "EVENTS");
        seen += frame["events"].as_array().unwrap().len();
    }
    let ack = json!({"op": "ACK", "topic": "a", "group": "g", "partition": 0, "offsets": [[0, 19], [30, 60]]});
    let ok = client.ok(ack).await;
    assert_eq!(ok["unknown"], json!([[50, 60]]));
    client.ok(json!({"op": "ACK", "topic": "a", "group": "g", "partition": 0, "offsets": [[10, 29]]})).await;
    assert_eq!(scene.bus.cursor("a", "g").await.unwrap()[0].offset, 50);
}

#[tokio::test]
async fn without_a_group_every_event_comes_and_nothing_is_settled() {
    let scene = Scene::open().await;
    scene.bus.publish("a", json!(0)).await.unwrap();
    let mut client = scene.client().await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "**", "opts": {"from": "earliest"}})).await;
    let event = client.event().await;
    assert_eq!(event["event"]["payload"], 0);
    assert!(event.get("group").is_none() && event.get("ctx").is_none());
    scene.bus.publish("b", json!(1)).await.unwrap();
    assert_eq!(client.event().await["event"]["topic"], "b");
}
