//! AUTH: first, in time, again, and what it changes.

use std::time::Duration;

use prom_auth::AuthOptions;
use prom_gateway::GatewayOptions;
use serde_json::json;

use crate::scene::{SECRET, Scene, auth, token, token_for};

const ID: &str = "0192f0c1-2345-7abc-8def-0123456789ab";

#[tokio::test]
async fn until_auth_everything_else_is_unauthorized_and_has_no_effect() {
    let scene = Scene::open().await;
    let mut client = scene.connect().await;
    let settle = json!({"topic": "a", "group": "g", "id": ID, "extend_ms": 1, "payload": 1, "corr": "c"});
    for op in ["PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE", "ACK", "NACK", "MODACK", "PAUSE", "RESUME"] {
        let mut frame = settle.clone();
        frame["op"] = json!(op);
        assert_eq!(client.err("unauthorized", frame).await["corr"], "c");
    }
    client.err("bad_json", json!("no object")).await;
    client.ok(json!({"op": "AUTH"})).await;
    assert!(scene.bus.read("a", 0, 0, 1).await.is_err(), "nothing was stored");
    client.ok(json!({"op": "PUBLISH", "topic": "a", "payload": 1})).await;
}

#[tokio::test]
async fn auth_that_is_sent_first_without_waiting_is_enough() {
    let scene = Scene::protected().await;
    let mut client = scene.connect().await;
    client.send(json!({"op": "AUTH", "token": token("alpha", &["publish:a"])})).await;
    client.send(json!({"op": "PUBLISH", "topic": "a", "payload": 1})).await;
    assert_eq!(client.frame().await["subject"], "alpha");
    assert_eq!(client.frame().await["offset"], 0);
}

#[tokio::test]
async fn where_no_auth_is_configured_any_token_or_none_is_ok() {
    let scene = Scene::open().await;
    for token in [json!(null), json!(""), json!("nonsense")] {
        let ok = scene.connect().await.ok(json!({"op": "AUTH", "token": token, "corr": 5})).await;
        assert_eq!((&ok["corr"], &ok["features"], &ok["frame_bytes"]), (&json!(5), &json!([]), &json!(1 << 20)));
        assert!(ok.get("subject").is_none() && ok.get("expires_at_ms").is_none(), "{ok}");
    }
}

#[tokio::test]
async fn a_refused_token_says_why_and_the_client_may_try_again() {
    let options = AuthOptions { static_token: Some("for development".to_owned()), ..auth() };
    let scene = Scene::with(options, GatewayOptions::default()).await;
    let mut client = scene.connect().await;
    client.err("no_token", json!({"op": "AUTH"})).await;
    client.err("no_token", json!({"op": "AUTH", "token": ""})).await;
    client.err("jwt_invalid", json!({"op": "AUTH", "token": "x.y.z"})).await;
    client.err("jwt_invalid", json!({"op": "AUTH", "token": SECRET})).await;
    client.err("bad_request", json!({"op": "AUTH", "token": 7})).await;
    client.err("unauthorized", json!({"op": "PUBLISH", "topic": "a", "payload": 1})).await;
    assert_eq!(client.ok(json!({"op": "AUTH", "token": "for development"})).await["subject"], "dev");
    client.ok(json!({"op": "PUBLISH", "topic": "a", "payload": 1})).await;
}

#[tokio::test]
async fn without_a_valid_auth_in_time_the_socket_is_closed() {
    let options = GatewayOptions { auth_deadline: Duration::from_millis(150), ..GatewayOptions::default() };
    let scene = Scene::with(auth(), options).await;
    let mut good = scene.client_with(&["publish:a"]).await;
    let (mut mute, mut wrong) = (scene.connect().await, scene.connect().await);
    wrong.err("jwt_invalid", json!({"op": "AUTH", "token": "x.y.z"})).await;
    for client in [&mut mute, &mut wrong] {
        let (frames, close) = client.last_words().await;
        assert_eq!((frames.len(), &frames[0]["code"], close), (1, &json!("unauthorized"), Some(4100)));
    }
    good.ok(json!({"op": "PUBLISH", "topic": "a", "payload": 1})).await;
}

#[tokio::test]
async fn an_expired_token_closes_its_socket_and_a_fresh_one_in_time_keeps_it() {
    let options = AuthOptions { clock_tolerance: Duration::ZERO, ..auth() };
    let scene = Scene::with(options, GatewayOptions::default()).await;
    let short = json!({"op": "AUTH", "token": token_for("alpha", &["*"], Duration::from_secs(2))});
    let (mut lost, mut kept) = (scene.connect().await, scene.connect().await);
    assert!(lost.ok(short.clone()).await["expires_at_ms"].is_i64());
    kept.ok(short.clone()).await;
    for client in [&mut lost, &mut kept] {
        client.ok(json!({"op": "SUBSCRIBE", "topic": "a"})).await;
    }
    kept.ok(json!({"op": "AUTH", "token": token("alpha", &["*"])})).await;
    let (frames, close) = lost.last_words().await;
    assert_eq!((frames.len(), &frames[0]["code"], close), (1, &json!("jwt_expired"), Some(4101)));
    scene.connect().await.err("jwt_expired", short).await;
    scene.bus.publish("a", json!("after")).await.unwrap();
    assert_eq!(kept.event().await["event"]["payload"], "after");
}

#[tokio::test]
async fn auth_again_keeps_what_the_new_rights_cover_and_ends_the_rest() {
    let scene = Scene::protected().await;
    let mut client = scene.client_with(&["publish", "subscribe"]).await;
    let subscribe = |topic: &str, group: Option<&str>| json!({"op": "SUBSCRIBE", "topic": topic, "group": group});
    client.ok(subscribe("a.b", Some("kept"))).await;
    client.ok(subscribe("a.*", Some("ended"))).await;
    client.ok(subscribe("c", None)).await;
    client.send(json!({"op": "AUTH", "token": token("alpha", &["publish:x", "subscribe:a.b"]), "corr": 1})).await;
    let (mut ended, mut answered) = (Vec::new(), false);
    while !answered || ended.len() < 2 {
        let frame = client.frame().await;
        match frame["op"].as_str().unwrap() {
            "OK" => answered = frame["corr"] == 1,
            "ERR" => {
                assert_eq!(frame["code"], "forbidden");
                ended.push((frame["topic"].clone(), frame.get("group").cloned()));
            }
            other => panic!("{other}"),
        }
    }
    ended.sort_by_key(|(topic, _)| topic.to_string());
    assert_eq!(ended, [(json!("a.*"), Some(json!("ended"))), (json!("c"), None)]);
    client.err("forbidden", json!({"op": "PUBLISH", "topic": "a.b", "payload": 0})).await;
    client.err("not_subscribed", json!({"op": "PAUSE", "topic": "c"})).await;
    scene.bus.publish("c", json!(0)).await.unwrap();
    scene.bus.publish("a.b", json!(1)).await.unwrap();
    let event = client.event().await;
    assert_eq!((&event["group"], &event["event"]["payload"]), (&json!("kept"), &json!(1)));
    client.ack(&event).await;
}

#[tokio::test]
async fn another_subject_or_a_bad_token_is_refused_and_the_rights_stay_as_they_were() {
    let scene = Scene::protected().await;
    let mut client = scene.client_with(&["publish:a"]).await;
    client.err("forbidden", json!({"op": "AUTH", "token": token("grace", &["*"])})).await;
    client.err("jwt_invalid", json!({"op": "AUTH", "token": "x.y.z"})).await;
    client.err("no_token", json!({"op": "AUTH"})).await;
    client.ok(json!({"op": "PUBLISH", "topic": "a", "payload": 1})).await;
    client.err("forbidden", json!({"op": "PUBLISH", "topic": "b", "payload": 1})).await;
}

#[tokio::test]
async fn what_was_agreed_on_by_the_first_auth_holds() {
    let scene = Scene::open().await;
    let mut client = scene.connect().await;
    let ok = client.ok(json!({"op": "AUTH", "features": ["batch", "something new"]})).await;
    assert_eq!(ok["features"], json!(["batch"]));
    assert_eq!(client.ok(json!({"op": "AUTH"})).await["features"], json!(["batch"]));
}
