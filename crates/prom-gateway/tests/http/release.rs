//! `/why`, `GET /groups/{group}`, `POST /groups/{group}/release` and `/kick`: an event that is held, and getting it back.

use axum::http::Method;
use prom_engine::Position;
use serde_json::{Value, json};

use crate::home::{Ask, Home};

#[tokio::test]
async fn a_held_event_is_shown_with_its_holder_and_can_be_taken_back() {
    let home = Home::open().await;
    home.publish_numbers("orders.placed", 1).await;
    let worker = home.bus.subscribe("orders.placed", "billing").from(Position::Earliest).member_id("worker-3");
    let mut worker = worker.origin(Some("alpha".into()), Some("10.0.0.7:1".into())).start().await.unwrap();
    let held = worker.next().await.unwrap();
    worker.pause().await;
    let why = home.get("/why?topic=orders.placed&group=billing").await.json();
    let lease = &why["partitions"][0]["held"][0];
    assert_eq!((&lease["member"], &lease["subject"]), (&json!("worker-3"), &json!("alpha")));
    assert_eq!((&lease["offset"], &lease["renewals"]), (&json!(0), &json!(0)));
    assert_eq!(why["partitions"][0]["actions"][1]["command"], "prom groups kick billing worker-3");
    let group = home.get("/groups/billing").await.json();
    let member = &group["members"][0];
    assert_eq!(
        (&member["member"], &member["address"], &member["in_flight"]),
        (&json!("worker-3"), &json!("10.0.0.7:1"), &json!(1))
    );
    let post = async |path: &str, body: Value| Ask::new(Method::POST, path).body(body.to_string()).send(&home).await;
    post("/groups/billing/release", json!({"topic": "orders.placed", "offset": 0, "member": "x"}))
        .await
        .problem(400, "bad_request");
    post("/groups/billing/release", json!({"topic": "orders.placed", "member": "x"}))
        .await
        .problem(404, "unknown_topic");
    let released = post("/groups/billing/release", json!({"topic": "orders.placed", "offset": 0})).await.json();
    assert_eq!(released["released"], json!([{"partition": 0, "offset": 0, "member": "worker-3"}]));
    assert!(held.ack().await.is_err());
    post("/groups/billing/kick", json!({"member": "nobody"})).await.problem(404, "unknown_topic");
    let kicked = post("/groups/billing/kick", json!({"member": "worker-3"})).await.json();
    assert_eq!((&kicked["member"], &kicked["subscriptions"]), (&json!("worker-3"), &json!(1)));
    assert!(worker.next().await.is_none());
}

#[tokio::test]
async fn taking_back_and_kicking_need_admin() {
    let home = Home::protected().await;
    home.publish_numbers("orders.placed", 1).await;
    let worker = home.bus.subscribe("orders.placed", "billing").from(Position::Earliest).member_id("worker-3");
    let _worker = worker.start().await.unwrap();
    let ask = |path: &str, body: &str| Ask::new(Method::POST, path).body(body.to_owned());
    let (release, kick) = (r#"{"topic":"orders.placed"}"#, r#"{"member":"worker-3"}"#);
    for scope in ["ops:orders.placed", "subscribe:orders.placed", "admin:other"] {
        ask("/groups/billing/release", release).token(&[scope]).send(&home).await.problem(403, "forbidden");
        ask("/groups/billing/kick", kick).token(&[scope]).send(&home).await.problem(403, "forbidden");
    }
    let kicked = ask("/groups/billing/kick", kick).token(&["admin:orders.placed"]).send(&home).await;
    assert!(kicked.status.is_success(), "{}", kicked.text());
}
