//! `/groups`.

use axum::http::Method;
use prom_engine::{Order, Position};
use serde_json::{Value, json};

use crate::home::{Answer, Ask, Home};

async fn patch(home: &Home, path: &str, change: Value) -> Answer {
    Ask::new(Method::PATCH, path).body(change.to_string()).send(home).await
}

async fn with_groups() -> Home {
    let home = Home::open().await;
    home.publish_numbers("orders.placed", 1).await;
    let billing = home.bus.subscribe("orders.placed", "billing").from(Position::Earliest).order(Order::Key);
    billing.start().await.unwrap().unsubscribe().await;
    home.bus.subscribe("orders.*", "audit:all").start().await.unwrap().unsubscribe().await;
    home
}

#[tokio::test]
async fn groups_are_shown_with_what_they_agreed_on() {
    let home = with_groups().await;
    let names: Vec<Value> = home.get("/groups").await.json()["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["group"].clone())
        .collect();
    assert_eq!(names, ["audit:all", "billing"]);
    let group = home.get("/groups/billing").await.json();
    assert_eq!(group["subscribers"], 0);
    let subscription = json!({
        "topics": ["orders.placed"],
        "options": {
            "from": "earliest", "mode": "shared", "partitions": null, "order": "key", "park": false, "filter": null, "max_attempts": null,
            "backoff": {"first_ms": 200, "max_ms": 30_000}, "expire_after_ms": null,
        },
    });
    assert_eq!(group["subscriptions"], json!([subscription]));
    home.get("/groups/audit%3Aall").await.json();
    home.get("/groups/unknown").await.problem(404, "unknown_topic");
    home.get("/groups/a%20b").await.problem(400, "bad_request");
}

#[tokio::test]
async fn a_group_is_changed_where_it_can_be_and_told_why_not_elsewhere() {
    let home = with_groups().await;
    let change = json!({"max_attempts": 9, "backoff": {"first_ms": 10, "max_ms": 20}, "expire_after_ms": 60_000});
    let changed = patch(&home, "/groups/billing", change).await.json();
    let options = &changed["subscriptions"][0]["options"];
    assert_eq!((&options["max_attempts"], &options["expire_after_ms"]), (&json!(9), &json!(60_000)));
    assert_eq!(options["backoff"], json!({"first_ms": 10, "max_ms": 20}));
    let changed =
        patch(&home, "/groups/billing", json!({"expire_after_ms": null, "topic": "orders.placed"})).await.json();
    let options = &changed["subscriptions"][0]["options"];
    assert_eq!((&options["max_attempts"], &options["expire_after_ms"]), (&json!(9), &Value::Null));

    for refused in [
        json!({"from": "earliest"}),
        json!({"order": "key"}),
        json!({"filter": ".payload"}),
        json!({"max_attempts": 0}),
        json!({"max_attempts": -1}),
        json!({"backoff": {"first_ms": 5, "max_ms": 1}}),
        json!({"maxAttempts": 1}),
        json!({"topic": "No!"}),
    ] {
        patch(&home, "/groups/billing", refused).await.problem(400, "bad_request");
    }
    patch(&home, "/groups/billing", json!({"topic": "other", "max_attempts": 1})).await.problem(404, "unknown_topic");
    patch(&home, "/groups/unknown", json!({"max_attempts": 1})).await.problem(404, "unknown_topic");
}

#[tokio::test]
async fn a_deleted_group_is_gone_with_its_cursors() {
    let home = with_groups().await;
    let delete = || Ask::new(Method::DELETE, "/groups/billing").send(&home);
    assert_eq!(delete().await.status, 204);
    delete().await.problem(404, "unknown_topic");
    let cursors = home.get("/cursors?topic=orders.placed").await.json();
    let left: Vec<_> = cursors["cursors"].as_array().unwrap().iter().map(|cursor| cursor["group"].clone()).collect();
    assert_eq!(left, ["audit:all"]);
}
