//! SUBSCRIBE and UNSUBSCRIBE: names, positions, options, and what a group agreed on.

use prom_gateway::GatewayOptions;
use serde_json::{Value, json};

use crate::scene::Scene;

fn subscribe(topic: &str, group: &str, opts: Value) -> Value {
    json!({"op": "SUBSCRIBE", "topic": topic, "group": group, "opts": opts})
}

async fn publish_numbers(scene: &Scene, topic: &str, count: usize) -> Vec<prom_types::Receipt> {
    let mut receipts = Vec::new();
    for n in 0..count {
        receipts.push(scene.bus.publish(topic, json!(n)).await.unwrap());
    }
    receipts
}

#[tokio::test]
async fn a_subscription_has_one_name_and_one_end() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    let name = json!({"topic": "a.*", "group": "g", "corr": 1});
    let say = |op: &str| {
        let mut frame = name.clone();
        frame["op"] = json!(op);
        frame
    };
    for op in ["UNSUBSCRIBE", "PAUSE", "RESUME"] {
        assert_eq!(client.err("not_subscribed", say(op)).await["corr"], 1);
    }
    client.ok(say("SUBSCRIBE")).await;
    client.err("already_subscribed", say("SUBSCRIBE")).await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "a.*"})).await;
    client.err("already_subscribed", json!({"op": "SUBSCRIBE", "topic": "a.*"})).await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "a.*", "group": "h"})).await;
    client.ok(say("UNSUBSCRIBE")).await;
    client.err("not_subscribed", say("UNSUBSCRIBE")).await;
    client.ok(say("SUBSCRIBE")).await;
}

#[tokio::test]
async fn unsubscribing_gives_leases_back_before_it_is_answered() {
    let scene = Scene::open().await;
    publish_numbers(&scene, "a", 1).await;
    let (mut first, mut second) = (scene.client().await, scene.client().await);
    let from_start = subscribe("a", "g", json!({"from": "earliest"}));
    first.ok(from_start.clone()).await;
    let event = first.event().await;
    first.ok(json!({"op": "UNSUBSCRIBE", "topic": "a", "group": "g"})).await;
    let id = &event["event"]["id"];
    first.err("not_subscribed", json!({"op": "ACK", "topic": "a", "group": "g", "id": id})).await;
    second.ok(from_start).await;
    let again = second.event().await;
    assert_eq!((&again["event"]["id"], &again["ctx"]["attempt"]), (id, &json!(1)));
}

#[tokio::test]
async fn an_ended_tail_is_silent() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "a"})).await;
    client.ok(json!({"op": "UNSUBSCRIBE", "topic": "a"})).await;
    for n in 0..20 {
        client.ok(json!({"op": "PUBLISH", "topic": "a", "payload": n})).await;
    }
}

#[tokio::test]
async fn a_group_begins_where_it_was_asked_to() {
    let scene = Scene::open().await;
    let receipts = publish_numbers(&scene, "a", 3).await;
    // Later by the hub's clock than the ones before.
    let later = loop {
        let receipt = scene.bus.publish("a", json!("later")).await.unwrap();
        if receipt.stored_ts > receipts[2].stored_ts {
            break receipt;
        }
    };
    let before_later = scene.bus.read("a", 0, 0, 100_000).await.unwrap().events.len();
    let cases = [
        (json!({"from": "earliest"}), 0),
        (json!({"from": "afterId", "afterId": receipts[0].id}), 1),
        (json!({"afterId": receipts[1].id}), 2),
        (json!({"from": "offset", "offset": 2}), 2),
        (json!({"offset": 1}), 1),
        (json!({"from": "ts", "ts": receipts[2].stored_ts + 1}), later.offset),
        (json!({"ts": 0}), 0),
        (json!({"from": "latest"}), before_later as u64),
        (json!({}), before_later as u64),
    ];
    let mut clients = Vec::new();
    for (at, (opts, expected)) in cases.iter().enumerate() {
        for group in [Some(format!("g{at}")), None] {
            let mut client = scene.client().await;
            let frame = json!({"op": "SUBSCRIBE", "topic": "a", "group": group, "opts": opts});
            client.ok(frame.clone()).await;
            clients.push((client, frame, *expected));
        }
    }
    scene.bus.publish("a", json!("last")).await.unwrap();
    for (mut client, frame, expected) in clients {
        assert_eq!(client.event().await["event"]["offset"], expected, "{frame}");
    }
}

#[tokio::test]
async fn a_position_lacks_nothing_it_needs() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    for (from, needs) in [("ts", "opts.ts"), ("afterId", "opts.afterId"), ("offset", "opts.offset")] {
        for group in [Some("g"), None] {
            let frame = json!({"op": "SUBSCRIBE", "topic": "a", "group": group, "opts": {"from": from}});
            let told = client.err("bad_request", frame).await;
            assert!(told["msg"].as_str().unwrap().contains(needs), "{told}");
        }
    }
}

#[tokio::test]
async fn bad_names_and_options_are_refused_with_what_is_wrong_and_leave_nothing_behind() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    let cases = [
        (subscribe("A", "g", json!({})), "topic pattern"),
        (subscribe("a..b", "g", json!({})), "topic pattern"),
        (subscribe("a***", "g", json!({})), "topic pattern"),
        (subscribe("", "g", json!({})), "topic pattern"),
        (subscribe("a", "", json!({})), "group name"),
        (subscribe("a", "two words", json!({})), "group name"),
        (subscribe("a", &"g".repeat(129), json!({})), "group name"),
        (subscribe("a", "g", json!({"topics": ["b", "NO"]})), "topic pattern"),
        (subscribe("a", "g", json!({"filter": ".a |"})), "filter"),
        (subscribe("a", "g", json!({"from": "yesterday"})), "`opts.from`"),
        (subscribe("a", "g", json!({"maxInFlight": 0})), "in flight"),
        (subscribe("a", "g", json!({"batchSize": 0})), "batch"),
        (subscribe("a", "g", json!({"ackTimeoutMs": 0})), "ack timeout"),
        (subscribe("a", "g", json!({"ackTimeoutMs": u64::MAX})), "ack timeout"),
        (subscribe("a", "g", json!({"maxAttempts": 0})), "attempts"),
        (subscribe("a", "g", json!({"backoff": {"firstMs": 5, "maxMs": 1}})), "backoff"),
        (subscribe("a", "g", json!({"mode": "divided"})), "`opts.mode`"),
        (subscribe("a", "g", json!({"partitions": 4000})), "between 1 and 1024"),
        (subscribe("a", "g", json!({"mode": "shared", "partitions": 4})), "`partitioned`"),
    ];
    for (frame, says) in cases {
        let told = client.err("bad_request", frame.clone()).await;
        let msg = told["msg"].as_str().unwrap().replace(['_', '-'], " ").to_lowercase();
        assert!(msg.contains(&says.to_lowercase()), "{frame}: {told}");
    }
    assert!(scene.bus.groups().await.unwrap().is_empty());
    client.ok(subscribe("a", "g", json!({}))).await;
}

#[tokio::test]
async fn a_subscriber_that_wants_something_else_than_the_group_agreed_on_is_refused() {
    let scene = Scene::open().await;
    let agreed = json!({"maxAttempts": 3, "order": "key", "filter": ".payload > 1"});
    scene.client().await.ok(subscribe("a", "g", agreed.clone())).await;
    let mut client = scene.client().await;
    for other in [json!({"order": "none"}), json!({"filter": ".payload > 2"}), json!({"mode": "partitioned"})] {
        let told = client.err("bad_request", subscribe("a", "g", other)).await;
        assert!(told["msg"].as_str().unwrap().contains('g'), "{told}");
    }
    client.ok(subscribe("a", "g", agreed)).await;
    scene.client().await.ok(subscribe("a", "g", json!({}))).await;
}

#[tokio::test]
async fn a_filter_lets_through_what_it_is_true_for_and_settles_the_rest() {
    let scene = Scene::open().await;
    publish_numbers(&scene, "a", 10).await;
    let mut client = scene.client().await;
    client.ok(subscribe("a", "g", json!({"from": "earliest", "filter": ".payload >= 7"}))).await;
    assert_eq!(client.take_acked(3).await, [7, 8, 9]);
    assert_eq!(scene.bus.cursor("a", "g").await.unwrap()[0].offset, 10);
}

#[tokio::test]
async fn by_key_order_an_event_waits_for_the_earlier_ones_of_its_key_only() {
    let scene = Scene::open().await;
    for (key, payload) in [("k", 1), ("k", 2), ("other", 3)] {
        scene.bus.publish("a", json!(payload)).key(key).await.unwrap();
    }
    let mut client = scene.client().await;
    client.ok(subscribe("a", "g", json!({"from": "earliest", "order": "key"}))).await;
    let (first, other) = (client.event().await, client.event().await);
    assert_eq!((&first["event"]["payload"], &other["event"]["payload"]), (&json!(1), &json!(3)));
    client.ack(&first).await;
    assert_eq!(client.event().await["event"]["payload"], 2);
}

#[tokio::test]
async fn one_subscription_takes_more_topics_and_settles_them_by_either_name() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    client.ok(subscribe("a", "g", json!({"topics": ["b.*", "c.**"]}))).await;
    for topic in ["a", "b.x", "c"] {
        scene.bus.publish(topic, json!(topic)).await.unwrap();
    }
    let mut seen = Vec::new();
    for _ in 0..3 {
        let event = client.event().await;
        assert_eq!(event["topic"], "a", "the string that was subscribed to");
        seen.push(event);
    }
    for event in seen {
        let (topic, id) = (&event["event"]["topic"], &event["event"]["id"]);
        assert_eq!(event["event"]["payload"], *topic);
        client.ok(json!({"op": "ACK", "topic": topic, "group": "g", "id": id})).await;
    }
    client
        .err(
            "not_subscribed",
            json!({"op": "ACK", "topic": "d", "group": "g",
        "id": "0192f0c1-2345-7abc-8def-0123456789ab"}),
        )
        .await;
}

#[tokio::test]
async fn a_topic_that_does_not_exist_yet_may_be_subscribed_to() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    client.ok(subscribe("not.yet", "g", json!({}))).await;
    client.ok(subscribe("any.**", "g", json!({}))).await;
    client.send(json!({"op": "PUBLISH", "topic": "any.thing", "payload": 1})).await;
    let frames = [client.frame().await, client.frame().await];
    assert!(frames.iter().any(|frame| frame["op"] == "EVENT" && frame["event"]["topic"] == "any.thing"), "{frames:?}");
}

#[tokio::test]
async fn a_connection_has_so_many_subscriptions_and_no_more() {
    let scene = Scene::limited(GatewayOptions { subscriptions_per_connection: 2, ..GatewayOptions::default() }).await;
    let mut client = scene.client().await;
    client.ok(subscribe("a", "g", json!({}))).await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "b"})).await;
    let told = client.err("bad_request", subscribe("c", "g", json!({}))).await;
    assert!(told["msg"].as_str().unwrap().contains("2 subscriptions"), "{told}");
    client.ok(json!({"op": "UNSUBSCRIBE", "topic": "b"})).await;
    client.ok(subscribe("c", "g", json!({}))).await;
    scene.client().await.ok(subscribe("d", "g", json!({}))).await;
}

#[tokio::test]
async fn what_was_published_before_subscribing_to_the_latest_is_not_among_it() {
    let scene = Scene::open().await;
    for _ in 0..20 {
        let mut client = scene.client().await;
        client.send(json!({"op": "PUBLISH", "topic": "a", "payload": "before"})).await;
        client.send(json!({"op": "SUBSCRIBE", "topic": "a", "opts": {"from": "latest"}})).await;
        client.send(json!({"op": "PUBLISH", "topic": "a", "payload": "after"})).await;
        let payload = loop {
            let frame = client.frame().await;
            match frame["op"].as_str() {
                Some("OK") => {}
                _ => break frame["event"]["payload"].clone(),
            }
        };
        assert_eq!(payload, "after");
    }
}

#[tokio::test]
async fn a_frame_with_a_field_twice_is_refused_with_its_correlation() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    client.send_text(r#"{"op":"PUBLISH","topic":"a","topic":"b","payload":1,"corr":"x"}"#).await;
    let answer = client.frame().await;
    assert_eq!((&answer["code"], &answer["corr"]), (&json!("bad_request"), &json!("x")), "{answer}");
}

#[tokio::test]
async fn a_subscriber_that_comes_back_after_the_group_was_changed_is_served_and_told() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    let asks = subscribe("a", "g", json!({"maxAttempts": 3}));
    assert_eq!(client.ok(asks.clone()).await["notes"], Value::Null);
    let change = prom_engine::GroupChange { max_attempts: Some(7), ..Default::default() };
    scene.bus.change_group("a", "g", change).await.unwrap();
    drop(client);
    let mut client = scene.client().await;
    let notes = client.ok(asks).await["notes"].clone();
    assert!(notes[0].as_str().unwrap().contains("maxAttempts = 7"), "{notes}");
    scene.bus.publish("a", json!(1)).await.unwrap();
    assert_eq!(client.event().await["ctx"]["max_attempts"], 7);
    let told = client.err("bad_request", subscribe("a.*", "g", json!({"order": "key", "topics": ["a"]}))).await;
    assert!(told["msg"].as_str().unwrap().contains("prom groups delete g"), "{told}");
}
