//! ACK, NACK and MODACK: of what is ours, of what is not, of what is over.

use serde_json::{Value, json};

use crate::scene::{Client, Scene};

const UNLEASED: &str = "0192f0c1-2345-7abc-8def-0123456789ab";

fn settle(op: &str, topic: &str, id: &Value) -> Value {
    json!({"op": op, "topic": topic, "group": "g", "id": id, "extend_ms": 60_000})
}

async fn subscribe(client: &mut Client, topic: &str, mut opts: Value) {
    opts["from"] = json!("earliest");
    client.ok(json!({"op": "SUBSCRIBE", "topic": topic, "group": "g", "opts": opts})).await;
}

#[tokio::test]
async fn what_is_settled_may_be_settled_again_by_anybody_but_not_extended() {
    let scene = Scene::open().await;
    scene.bus.publish("a.b", json!(1)).await.unwrap();
    let (mut first, mut second) = (scene.client().await, scene.client().await);
    subscribe(&mut first, "a.*", json!({})).await;
    let id = first.event().await["event"]["id"].clone();
    subscribe(&mut second, "a.*", json!({})).await;
    first.ok(settle("ACK", "a.b", &id)).await;
    for client in [&mut first, &mut second] {
        client.ok(settle("ACK", "a.*", &id)).await;
        client.ok(settle("ACK", "a.b", &id)).await;
        client.ok(settle("NACK", "a.*", &id)).await;
        client.err("unknown_id", settle("MODACK", "a.*", &id)).await;
    }
    assert_eq!(scene.bus.cursor("a.b", "g").await.unwrap()[0].offset, 1);
}

#[tokio::test]
async fn what_is_leased_to_another_or_to_none_is_unknown() {
    let scene = Scene::open().await;
    scene.bus.publish("a", json!(1)).await.unwrap();
    let (mut holder, mut other) = (scene.client().await, scene.client().await);
    subscribe(&mut holder, "a", json!({})).await;
    let id = holder.event().await["event"]["id"].clone();
    subscribe(&mut other, "a", json!({})).await;
    for op in ["ACK", "NACK", "MODACK"] {
        let told = other.err("unknown_id", settle(op, "a", &id)).await;
        assert!(told.get("corr").is_none(), "{told}");
        other.err("unknown_id", settle(op, "a", &json!(UNLEASED))).await;
        other.err("bad_request", settle(op, "a", &json!("no id"))).await;
        other.err("not_subscribed", settle(op, "b", &id)).await;
    }
    holder.ok(settle("ACK", "a", &id)).await;
}

#[tokio::test]
async fn an_expired_lease_settles_nothing_until_its_successor_has() {
    let scene = Scene::open().await;
    scene.bus.publish("a", json!(1)).await.unwrap();
    let (mut slow, mut quick) = (scene.client().await, scene.client().await);
    let backoff = json!({"firstMs": 1, "maxMs": 1});
    subscribe(&mut slow, "a", json!({"ackTimeoutMs": 100, "backoff": backoff})).await;
    let id = slow.event().await["event"]["id"].clone();
    // So that it does not get the event again itself; its lease stays.
    slow.ok(json!({"op": "PAUSE", "topic": "a", "group": "g"})).await;
    subscribe(&mut quick, "a", json!({})).await;
    assert_eq!(quick.event().await["ctx"]["attempt"], 2, "an expired lease is a failed attempt");
    for op in ["ACK", "NACK", "MODACK"] {
        slow.err("unknown_id", settle(op, "a", &id)).await;
    }
    quick.ok(settle("ACK", "a", &id)).await;
    slow.ok(settle("ACK", "a", &id)).await;
}

#[tokio::test]
async fn an_ack_that_was_late_is_ok_if_the_event_is_settled_by_then() {
    let scene = Scene::open().await;
    scene.bus.publish("a", json!(1)).await.unwrap();
    let (mut slow, mut quick) = (scene.client().await, scene.client().await);
    subscribe(&mut slow, "a", json!({"ackTimeoutMs": 100, "backoff": {"firstMs": 1, "maxMs": 1}})).await;
    let id = slow.event().await["event"]["id"].clone();
    slow.ok(json!({"op": "PAUSE", "topic": "a", "group": "g"})).await;
    subscribe(&mut quick, "a", json!({})).await;
    quick.event().await;
    quick.ok(settle("ACK", "a", &id)).await;
    slow.ok(settle("ACK", "a", &id)).await;
}

#[tokio::test]
async fn modack_gives_more_time_to_what_it_names_and_to_nothing_else() {
    let scene = Scene::open().await;
    for n in 0..2 {
        scene.bus.publish("a", json!(n)).await.unwrap();
    }
    let mut client = scene.client().await;
    subscribe(&mut client, "a", json!({"ackTimeoutMs": 500, "backoff": {"firstMs": 1, "maxMs": 1}})).await;
    let (kept, lost) = (client.event().await, client.event().await);
    assert!(kept["ctx"]["ack_deadline_ms"].as_u64().unwrap() <= 500);
    client.ok(settle("MODACK", "a", &kept["event"]["id"])).await;
    let again = client.event().await;
    assert_eq!((&again["event"]["id"], &again["ctx"]["attempt"]), (&lost["event"]["id"], &json!(2)));
    client.ok(settle("ACK", "a", &kept["event"]["id"])).await;
    client.ok(settle("ACK", "a", &lost["event"]["id"])).await;
}

#[tokio::test]
async fn numbers_at_the_end_of_their_range_do_no_harm() {
    let scene = Scene::open().await;
    for n in 0..2 {
        scene.bus.publish("a", json!(n)).await.unwrap();
    }
    let mut client = scene.client().await;
    subscribe(&mut client, "a", json!({})).await;
    let (first, second) = (client.event().await, client.event().await);
    let mut forever = settle("MODACK", "a", &first["event"]["id"]);
    forever["extend_ms"] = json!(u64::MAX);
    client.ask(forever).await;
    let mut never = settle("NACK", "a", &second["event"]["id"]);
    never["delay_ms"] = json!(u64::MAX);
    client.ask(never).await;
    let all = json!({"op": "ACK", "topic": "a", "group": "g", "partition": u32::MAX, "offsets": [[0, u64::MAX]]});
    client.ask(all).await;
    client.ok(settle("ACK", "a", &first["event"]["id"])).await;
    client.ok(json!({"op": "PUBLISH", "topic": "b", "payload": 1})).await;
}

#[tokio::test]
async fn at_the_limit_of_attempts_an_event_goes_to_the_dead_letters_with_its_reason() {
    let scene = Scene::open().await;
    scene.bus.publish("a", json!("poison")).await.unwrap();
    let mut client = scene.client().await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "dlq.a"})).await;
    subscribe(&mut client, "a", json!({"maxAttempts": 1})).await;
    let event = client.event().await;
    assert_eq!(event["ctx"]["max_attempts"], 1);
    let mut nack = settle("NACK", "a", &event["event"]["id"]);
    nack["reason"] = json!("cannot read it");
    client.send(nack).await;
    let frames = [client.frame().await, client.frame().await];
    let letter = frames.iter().find(|frame| frame["topic"] == "dlq.a").expect("a letter");
    assert_eq!(letter["event"]["payload"]["err"], "cannot read it");
    assert_eq!(letter["event"]["payload"]["original"]["payload"], "poison");
}

#[tokio::test]
async fn a_nack_may_say_when_to_try_again() {
    let scene = Scene::open().await;
    scene.bus.publish("a", json!(1)).await.unwrap();
    let mut client = scene.client().await;
    subscribe(&mut client, "a", json!({"backoff": {"firstMs": 3_600_000, "maxMs": 3_600_000}})).await;
    let event = client.event().await;
    let mut nack = settle("NACK", "a", &event["event"]["id"]);
    nack["delay_ms"] = json!(1);
    client.ok(nack).await;
    assert_eq!(client.event().await["ctx"]["attempt"], 2, "the group's backoff would have been an hour");
}

#[tokio::test]
async fn many_are_settled_by_id_and_the_answer_names_those_that_are_not_ours() {
    let scene = Scene::open().await;
    let mut client = scene.connect().await;
    client.ok(json!({"op": "AUTH", "features": ["batch"]})).await;
    for n in 0..3 {
        scene.bus.publish("a", json!(n)).await.unwrap();
    }
    subscribe(&mut client, "a", json!({})).await;
    let mut ids = Vec::new();
    while ids.len() < 3 {
        let frame = client.frame().await;
        let events = frame["events"].as_array().cloned().unwrap_or_else(|| vec![frame["event"].clone()]);
        ids.extend(events.into_iter().map(|event| event["id"].clone()));
    }
    let ack = json!({"op": "ACK", "topic": "a", "group": "g", "ids": [ids[0], UNLEASED, ids[1]]});
    assert_eq!(client.ok(ack).await["unknown"], json!([UNLEASED]));
    let settled = client.ok(json!({"op": "ACK", "topic": "a", "group": "g", "ids": ids})).await;
    assert!(settled.get("unknown").is_none(), "{settled}");
    assert_eq!(scene.bus.cursor("a", "g").await.unwrap()[0].offset, 3);
    client.ok(json!({"op": "ACK", "topic": "a", "group": "g", "ids": []})).await;
}

#[tokio::test]
async fn of_many_acks_those_that_expired_are_named_and_the_rest_is_settled() {
    let scene = Scene::open().await;
    scene.bus.publish("a", json!("expires")).await.unwrap();
    let (mut slow, mut quick) = (scene.connect().await, scene.client().await);
    slow.ok(json!({"op": "AUTH", "features": ["batch"]})).await;
    subscribe(&mut slow, "a", json!({"ackTimeoutMs": 100, "backoff": {"firstMs": 1, "maxMs": 1}})).await;
    let expired = slow.event().await["event"]["id"].clone();
    slow.ok(json!({"op": "PAUSE", "topic": "a", "group": "g"})).await;
    subscribe(&mut quick, "a", json!({})).await;
    quick.event().await;
    let unleased_too = "0192f0c1-2345-7abc-8def-00000000ffff";
    for unknown in [json!([expired]), json!([expired, unleased_too])] {
        let mut ids = unknown.as_array().unwrap().clone();
        ids.push(json!(UNLEASED));
        let ok = slow.ok(json!({"op": "ACK", "topic": "a", "group": "g", "ids": ids})).await;
        assert!(ok["unknown"].as_array().unwrap().contains(&expired), "{ok}");
    }
}

#[tokio::test]
async fn one_id_in_two_topics_is_two_events() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "o.*", "group": "g", "opts": {"from": "earliest"}})).await;
    let id = "0192f0c1-2345-7abc-8def-0123456789ab";
    for topic in ["o.a", "o.b"] {
        client.ok(json!({"op": "PUBLISH", "topic": topic, "payload": 1, "opts": {"id": id}})).await;
        assert_eq!(client.event().await["event"]["topic"], topic);
    }
    client.ok(json!({"op": "ACK", "topic": "o.a", "group": "g", "id": id})).await;
    assert_eq!(scene.bus.cursor("o.a", "g").await.unwrap()[0].offset, 1);
    assert_eq!(scene.bus.cursor("o.b", "g").await.unwrap()[0].offset, 0, "it was not acked");
    client.ok(json!({"op": "ACK", "topic": "o.*", "group": "g", "id": id})).await;
    assert_eq!(scene.bus.cursor("o.b", "g").await.unwrap()[0].offset, 1);
}

#[tokio::test]
async fn an_event_of_overlapping_subscriptions_is_settled_by_its_own_topic() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    for topic in ["a.*", "a.b", "**"] {
        client.ok(json!({"op": "SUBSCRIBE", "topic": topic, "group": "g", "opts": {"from": "earliest"}})).await;
    }
    for n in 0..30 {
        scene.bus.publish("a.b", json!(n)).await.unwrap();
        let id = client.event().await["event"]["id"].clone();
        client.ok(json!({"op": "ACK", "topic": "a.b", "group": "g", "id": id})).await;
    }
    assert_eq!(scene.bus.cursor("a.b", "g").await.unwrap()[0].offset, 30);
}

#[tokio::test]
async fn what_is_sent_before_leaving_is_settled() {
    let scene = Scene::open().await;
    for n in 0..50 {
        scene.bus.publish("a", json!(n)).await.unwrap();
    }
    let mut client = scene.client().await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "a", "group": "g", "opts": {"from": "earliest"}})).await;
    let mut ids = Vec::new();
    for _ in 0..50 {
        ids.push(client.event().await["event"]["id"].clone());
    }
    for id in ids {
        client.send(json!({"op": "ACK", "topic": "a", "group": "g", "id": id})).await;
    }
    client.send(json!({"op": "UNSUBSCRIBE", "topic": "a", "group": "g"})).await;
    for _ in 0..51 {
        let answer = client.frame().await;
        assert_eq!(answer["op"], "OK", "{answer}");
    }
    assert_eq!(scene.bus.cursor("a", "g").await.unwrap()[0].offset, 50);
}

#[tokio::test]
async fn a_frame_names_each_event_once() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "a", "group": "g"})).await;
    let all = u64::MAX;
    for offsets in [json!([[0, all], [0, all]]), json!([[5, 9], [3, 4]]), json!([[1, 2], [2, 3]])] {
        for op in ["ACK", "NACK", "MODACK"] {
            let frame = json!({"op": op, "topic": "a", "group": "g", "offsets": offsets, "extend_ms": 1});
            client.err("bad_request", frame).await;
        }
    }
    let id = "0192f0c1-2345-7abc-8def-0123456789ab";
    client.err("bad_request", json!({"op": "ACK", "topic": "a", "group": "g", "ids": [id, id]})).await;
    client.err("too_large", json!({"op": "NACK", "topic": "a", "group": "g", "offsets": [[0, all]]})).await;
    let ok =
        client.ok(json!({"op": "MODACK", "topic": "a", "group": "g", "offsets": [[0, all]], "extend_ms": 1})).await;
    assert_eq!(ok["unknown"], json!([[0, all]]));
}

#[tokio::test]
async fn what_is_given_back_unhandled_comes_again_at_once_and_costs_no_attempt() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    let opts = json!({"maxAttempts": 1, "backoff": {"firstMs": 3_600_000, "maxMs": 3_600_000}});
    client.ok(json!({"op": "SUBSCRIBE", "topic": "a", "group": "g", "opts": opts})).await;
    scene.bus.publish("a", json!(1)).await.unwrap();
    let give_back = |event: &Value| json!({"op": "NACK", "topic": "a", "group": "g", "id": event["event"]["id"], "unhandled": true});
    let mut held = client.event().await;
    for _ in 0..10 {
        client.send(give_back(&held)).await;
        // The event may be there before the answer.
        let frames = [client.frame().await, client.frame().await];
        assert!(frames.iter().any(|frame| frame["op"] == "OK"), "{frames:?}");
        held = frames.into_iter().find(|frame| frame["op"] == "EVENT").unwrap();
        assert_eq!(held["ctx"]["attempt"], 1);
    }
    client.ack(&held).await;
    client.ok(give_back(&held)).await;
}
