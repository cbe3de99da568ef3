//! `/topics`.

use axum::http::Method;
use serde_json::{Value, json};

use crate::home::{Ask, Home, until};

#[tokio::test]
async fn topics_are_listed_with_their_settings_and_partitions() {
    let home = Home::open().await;
    let settings = json!({"partitions": 2, "retention": {"age_ms": 1000}, "max_attempts": 3});
    let made = home.put("/topics/orders.placed", settings).await.json();
    assert_eq!(made["partitions"], 2);
    home.bus.publish("orders.placed", json!(1)).partition(1).await.unwrap();
    let list = home.get("/topics").await.json();
    let topic = &list["topics"][0];
    assert_eq!(topic["topic"], "orders.placed");
    let settings =
        json!({"partitions": 2, "key": null, "retention": {"age_ms": 1000}, "compaction": null, "max_attempts": 3});
    assert_eq!(topic["settings"], settings);
    assert_eq!((&topic["partitions"][1]["start"], &topic["partitions"][1]["head"]), (&json!(0), &json!(1)));
    assert!(topic["partitions"][1]["bytes"].as_u64().unwrap() > 0);
    assert_eq!((&topic["events"], &topic["bytes"]), (&json!(1), &topic["partitions"][1]["bytes"]));
    let one = home.get("/topics/orders.placed").await.json();
    assert_eq!(one["partitions"], topic["partitions"]);
}

#[tokio::test]
async fn rates_are_known_after_a_moment_of_interest() {
    let home = Home::open().await;
    home.publish_numbers("a", 1).await;
    assert_eq!(home.get("/topics/a").await.json()["events_per_s"], Value::Null);
    home.publish_numbers("a", 50).await;
    until("a rate", || async {
        home.get("/topics/a").await.json()["events_per_s"].as_f64().is_some_and(|rate| rate > 0.0)
    })
    .await;
    let topic = home.get("/topics").await.json()["topics"][0].clone();
    assert!(topic["bytes_per_s"].as_f64().unwrap() > topic["events_per_s"].as_f64().unwrap());
}

#[tokio::test]
async fn a_compacted_topic_is_made_and_its_promises_are_kept() {
    let home = Home::open().await;
    let made = home.put("/topics/process.state", json!({"compaction": true})).await.json();
    assert!(made["compaction"]["tombstone_grace_ms"].as_u64().unwrap() > 0);
    home.put("/topics/process.state", json!({"compaction": {"tombstone_grace_ms": 5}})).await.json();
    let raised = json!({"compaction": true, "partitions": 2});
    home.put("/topics/process.state", raised).await.problem(400, "bad_request");
    home.post("/publish", r#"{"topic":"process.state","payload":1}"#).await.problem(400, "bad_request");
}

#[tokio::test]
async fn compaction_ends_only_where_that_is_said() {
    let home = Home::open().await;
    home.put("/topics/process.state", json!({"compaction": true})).await.json();
    home.put("/topics/process.state", json!({"max_attempts": 3})).await.problem(400, "bad_request");
    let kept = home.get("/topics/process.state").await.json();
    assert!(kept["settings"]["compaction"].is_object(), "{kept}");
    let ended = home.put("/topics/process.state", json!({"compaction": false, "max_attempts": 3})).await.json();
    assert_eq!(ended["compaction"], Value::Null);
}

#[tokio::test]
async fn wrong_settings_are_named_and_make_nothing() {
    let home = Home::open().await;
    for (settings, named) in [
        (json!({"partitions": 0}), "partitions"),
        (json!({"partitions": -1}), "partitions"),
        (json!({"partitions": 5000}), "partitions"),
        (json!({"partitions": "two"}), "partitions"),
        (json!({"retention": {"age_ms": -1}}), "retention.age_ms"),
        (json!({"retention": {"age": 1}}), "age"),
        (json!({"max_attempts": 0}), "max_attempts"),
        (json!({"compaction": "yes"}), "compaction"),
        (json!({"partition": 1}), "partition"),
        (json!([]), "object"),
    ] {
        let problem = home.put("/topics/a", settings.clone()).await;
        assert_eq!(problem.status, 400, "{settings}");
        assert!(problem.text().contains(named), "{settings} → {}", problem.text());
    }
    home.put("/topics/dlq.a", json!({})).await.problem(400, "bad_request");
    home.put("/topics/system.audit", json!({})).await.problem(400, "bad_request");
    assert!(home.bus.topics().await.unwrap().is_empty());
    home.get("/topics/a").await.problem(404, "unknown_topic");
}

#[tokio::test]
async fn snapshots_are_kept_for_those_who_administer_where_they_go() {
    let home = Home::protected().await;
    let put = async |scopes: &[&str]| {
        let body = json!({"snapshot": {"every_ms": 60_000}}).to_string();
        Ask::new(Method::PUT, "/topics/state").token(scopes).body(body).send(&home).await
    };
    put(&["admin:state"]).await.problem(403, "forbidden");
    assert_eq!(put(&["admin:state", "admin:state.snapshot"]).await.json()["snapshot"]["every_ms"], 60_000);
}
