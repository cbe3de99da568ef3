//! PAUSE and RESUME: leases stay, nothing new comes, nothing is lost.

use serde_json::{Value, json};

use crate::scene::{Client, Scene};

async fn publish(client: &mut Client, count: usize) {
    for n in 0..count {
        // `ok` fails if an event comes instead of the answer.
        client.ok(json!({"op": "PUBLISH", "topic": "a", "payload": n})).await;
    }
}

/// Events may begin before the answer is written.
async fn payloads_and_one_ok(client: &mut Client, events: usize) -> Vec<Value> {
    let (mut payloads, mut answers) = (Vec::new(), 0);
    while payloads.len() < events || answers < 1 {
        let frame = client.frame().await;
        if frame["op"] == "OK" { answers += 1 } else { payloads.push(frame["event"]["payload"].clone()) }
    }
    payloads
}

#[tokio::test]
async fn a_paused_group_subscription_is_silent_and_can_still_settle() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    let name = |op: &str| json!({"op": op, "topic": "a", "group": "g"});
    client.ok(name("SUBSCRIBE")).await;
    scene.bus.publish("a", json!("before")).await.unwrap();
    let held = client.event().await;
    client.ok(name("PAUSE")).await;
    client.ok(name("PAUSE")).await;
    publish(&mut client, 30).await;
    client.ack(&held).await;
    client.send(name("RESUME")).await;
    assert_eq!(payloads_and_one_ok(&mut client, 30).await, (0..30).map(Value::from).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_paused_tail_goes_on_where_it_stopped() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "a"})).await;
    client.ok(json!({"op": "PAUSE", "topic": "a"})).await;
    publish(&mut client, 30).await;
    client.send(json!({"op": "RESUME", "topic": "a"})).await;
    assert_eq!(payloads_and_one_ok(&mut client, 30).await, (0..30).map(Value::from).collect::<Vec<_>>());
}

#[tokio::test]
async fn others_of_the_group_get_what_a_paused_member_does_not() {
    let scene = Scene::open().await;
    let (mut paused, mut other) = (scene.client().await, scene.client().await);
    let name = |op: &str| json!({"op": op, "topic": "a", "group": "g"});
    paused.ok(name("SUBSCRIBE")).await;
    paused.ok(name("PAUSE")).await;
    other.ok(name("SUBSCRIBE")).await;
    publish(&mut paused, 20).await;
    assert_eq!(other.take_acked(20).await.len(), 20);
}

#[tokio::test]
async fn resume_changes_the_window_and_leases_stay() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    let resume = |events: usize| json!({"op": "RESUME", "topic": "a", "group": "g", "max_in_flight": events});
    client.ok(json!({"op": "SUBSCRIBE", "topic": "a", "group": "g", "opts": {"maxInFlight": 2}})).await;
    for n in 0..30 {
        scene.bus.publish("a", json!(n)).await.unwrap();
    }
    let held = [client.event().await, client.event().await];
    client.send(resume(10)).await;
    assert_eq!(payloads_and_one_ok(&mut client, 8).await, (2..10).map(Value::from).collect::<Vec<_>>());
    client.err("bad_request", resume(0)).await;
    client.ok(resume(9)).await;
    // Nine are left of ten: there is no room for another.
    client.ack(&held[0]).await;
    let id = &held[1]["event"]["id"];
    client.send(json!({"op": "ACK", "topic": "a", "group": "g", "id": id})).await;
    assert_eq!(payloads_and_one_ok(&mut client, 1).await, [json!(10)]);
}
