//! PUBLISH and its answers.

use serde_json::json;

use crate::scene::Scene;

#[tokio::test]
async fn a_publish_is_answered_with_its_receipt() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    let ok = client.ok(json!({"op": "PUBLISH", "topic": "a.b", "payload": {"n": 1}, "corr": "x"})).await;
    assert_eq!((&ok["corr"], &ok["offset"], &ok["partition"]), (&json!("x"), &json!(0), &json!(0)));
    assert_eq!(ok["durability"], "memory");
    let page = scene.bus.read("a.b", 0, 0, 10).await.unwrap();
    assert_eq!(page.events[0].id().to_string(), ok["id"]);
}

#[tokio::test]
async fn a_client_that_sends_without_waiting_gets_its_answers_in_order() {
    let scene = Scene::open().await;
    let mut client = scene.connect().await;
    client.send(json!({"op": "AUTH"})).await;
    for n in 0..500 {
        client.send(json!({"op": "PUBLISH", "topic": "a", "payload": n})).await;
        client.send_text("{nonsense").await;
    }
    assert_eq!(client.frame().await["op"], "OK");
    for n in 0..500 {
        assert_eq!(client.frame().await["offset"], n);
        assert_eq!(client.frame().await["code"], "bad_json");
    }
}

#[tokio::test]
async fn a_batch_answers_for_each_event() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    let id = "0192f0c1-2345-7abc-8def-0123456789ab";
    let ok = client
        .ok(json!({"op": "PUBLISH", "corr": 1, "events": [
            {"topic": "a", "payload": 1},
            {"topic": "NOT A TOPIC", "payload": 1},
            {"topic": "b", "payload": null, "opts": {"id": id}},
            {"topic": "b"},
        ]}))
        .await;
    let results = ok["results"].as_array().unwrap();
    assert_eq!(results[0].as_array().unwrap().len(), 4, "the hub made the id and tells it");
    assert_eq!(results[1]["code"], "bad_request");
    assert_eq!(results[2].as_array().unwrap().len(), 3);
    assert!(results[3]["msg"].as_str().unwrap().contains("payload"));
}

#[tokio::test]
async fn events_are_stored_in_the_order_of_their_frames_whatever_their_form() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    let mut sent = 0;
    for _ in 0..20 {
        let event = |n: u64| json!({"topic": "a", "payload": n});
        client.send(json!({"op": "PUBLISH", "topic": "a", "payload": sent})).await;
        client.send(json!({"op": "PUBLISH", "events": [event(sent + 1), event(sent + 2)], "atomic": true})).await;
        client.send(json!({"op": "PUBLISH", "events": [event(sent + 3), event(sent + 4)]})).await;
        sent += 5;
    }
    for _ in 0..60 {
        assert_eq!(client.frame().await["op"], "OK");
    }
    let page = scene.bus.read("a", 0, 0, 200).await.unwrap();
    let payloads: Vec<u64> = page.events.iter().map(|event| event.payload().unwrap()).collect();
    assert_eq!(payloads, (0..sent).collect::<Vec<_>>());
}

#[tokio::test]
async fn of_an_atomic_batch_everything_is_stored_or_nothing() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    let batch = |second: &str| {
        json!({"op": "PUBLISH", "atomic": true, "events": [
        {"topic": "a", "payload": 1}, {"topic": second, "payload": 2}]})
    };
    let refused = client.err("bad_request", batch("NO")).await;
    assert!(refused["msg"].as_str().unwrap().contains("events[1]"), "{refused}");
    assert!(scene.bus.read("a", 0, 0, 10).await.is_err(), "nothing was made");
    client.ok(batch("b")).await;
    assert_eq!(scene.bus.read("b", 0, 0, 10).await.unwrap().events.len(), 1);
}

#[tokio::test]
async fn what_is_not_as_expected_is_a_conflict_in_every_form_of_a_publish() {
    let scene = Scene::open().await;
    scene.bus.create_topic(prom_engine::TopicSettings::new("accounts").unwrap().versions()).await.unwrap();
    let mut client = scene.client().await;
    let event =
        |expect: serde_json::Value| json!({"topic": "accounts", "payload": 1, "opts": {"key": "a", "expect": expect}});
    let frame = |expect| {
        let mut frame = event(expect);
        frame["op"] = json!("PUBLISH");
        frame
    };
    // Without waiting: each is judged behind the one before it.
    client.send(json!({"op": "PUBLISH", "topic": "accounts", "payload": 1, "opts": {"key": "a"}})).await;
    client.send(frame(json!({"key_offset": 0}))).await;
    client.send(frame(json!({"key_offset": 0}))).await;
    client.send(json!({"op": "PUBLISH", "topic": "accounts", "payload": 1})).await;
    assert_eq!(client.frame().await["offset"], 0);
    assert_eq!(client.frame().await["offset"], 1);
    let refused = client.frame().await;
    assert_eq!((&refused["code"], &refused["actual"]), (&json!("conflict"), &json!({"key_offset": 1})), "{refused}");
    assert_eq!(client.frame().await["offset"], 2);

    let many = json!({"op": "PUBLISH", "events": [event(json!({"offset": 3})), event(json!({"offset": 3}))]});
    let ok = client.ok(many.clone()).await;
    assert_eq!((&ok["results"][0][1], &ok["results"][1]["actual"]), (&json!(3), &json!({"offset": 4})), "{ok}");
    let mut atomic =
        json!({"op": "PUBLISH", "atomic": true, "events": [event(json!({"offset": 4})), event(json!({"offset": 5}))]});
    atomic["corr"] = json!(9);
    client.send(atomic).await;
    let refused = client.frame().await;
    assert_eq!((&refused["code"], &refused["actual"]), (&json!("conflict"), &json!({"offset": 4})), "{refused}");
    assert!(refused["msg"].as_str().unwrap().starts_with("events[1]"), "{refused}");
    assert_eq!(scene.bus.bounds("accounts").await.unwrap()[0].next, 4);
}
