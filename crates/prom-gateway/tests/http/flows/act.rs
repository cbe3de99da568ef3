//! What is asked of a flow is done, told and audited; what makes no sense is refused, and changes nothing.

use std::time::Duration;

use axum::http::Method;
use prom_jobs::{Flow, FlowKind, FlowState};
use serde_json::{Value, json};

use super::in_memory::FlowInMemory;
use super::with_flows;
use crate::home::{Ask, Home, until};

async fn audited(home: &Home) -> Vec<Value> {
    let trail = Ask::new(Method::GET, "/replay?topic=system.audit").token(&["subscribe:system.audit"]);
    let trail = trail.send(home).await;
    if trail.status == 404 {
        return Vec::new();
    }
    trail.json()["events"].as_array().unwrap().iter().map(|event| event["payload"].clone()).collect()
}

async fn post(home: &Home, path: &str, body: Value) -> Value {
    Ask::new(Method::POST, path).token(&["admin"]).body(body.to_string()).send(home).await.json()
}

async fn rows(home: &Home, status: &str) -> Vec<String> {
    let path = format!("/flows/outbox/orders/rows?status={status}");
    let list = Ask::new(Method::GET, &path).token(&["ops"]).send(home).await.json();
    list["rows"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn rows_in_error_are_requeued_as_they_were_chosen() {
    let home = with_flows(Home::protected().await).await;
    let done = post(&home, "/flows/outbox/orders/requeue", json!({"key": "k2"})).await;
    assert_eq!(done, json!({"kind": "outbox", "name": "orders", "done": "requeued", "rows": 1}));
    assert_eq!(
        (rows(&home, "error").await, rows(&home, "pending").await),
        (vec!["a".into()], vec!["b".into(), "c".into()])
    );
    let done = post(&home, "/flows/outbox/orders/requeue", json!({"ids": ["b", "nothing"]})).await;
    assert_eq!(done["rows"], 0, "a row that is not in error was requeued");
    let done = post(&home, "/flows/outbox/orders/requeue", json!({"all": true, "limit": 1})).await;
    assert_eq!(done["rows"], 1);
    let trail = audited(&home).await;
    assert_eq!(trail.len(), 3);
    assert_eq!(
        (&trail[0]["action"], &trail[0]["flow"], &trail[0]["key"]),
        (&json!("requeue_rows"), &json!("outbox orders"), &json!("k2"))
    );
    assert_eq!((&trail[1]["rows"], &trail[1]["ids"]), (&json!(2), &json!(["b", "nothing"])));
    assert_eq!((&trail[2]["all"], &trail[2]["limit"]), (&json!(true), &json!(1)));
}

#[tokio::test]
async fn rows_in_error_are_let_go_and_no_others() {
    let home = with_flows(Home::protected().await).await;
    let done = post(&home, "/flows/outbox/orders/drop", json!({"topic": "orders.placed"})).await;
    assert_eq!((&done["done"], &done["rows"]), (&json!("dropped"), &json!(2)));
    assert_eq!((rows(&home, "error").await, rows(&home, "pending").await), (vec![], vec!["b".into()]));
    assert_eq!(audited(&home).await[0]["action"], "drop_rows");
}

#[tokio::test]
async fn a_feed_is_moved_a_projection_rebuilt_and_what_stopped_restarted() {
    let home = with_flows(Home::protected().await).await;
    let feed = FlowInMemory::new(FlowKind::Feed, "orders").failing(FlowState::Stopped, "the token is lost").shared();
    home.flows.add(feed.clone());
    post(&home, "/flows/feed/orders/seek", json!({"at": 1_700_000_000_000_i64})).await;
    assert_eq!(feed.position().as_deref(), Some("1700000000000"));
    post(&home, "/flows/feed/orders/seek", json!({"token": "8265E6"})).await;
    assert_eq!(feed.position().as_deref(), Some("8265E6"));
    assert_eq!(post(&home, "/flows/feed/orders/restart", json!(null)).await["done"], "tried again");
    assert_eq!(feed.status().state, FlowState::Running);
    let built = post(&home, "/flows/projection/processes/rebuild", json!(null)).await;
    assert_eq!((&built["done"], built.get("rows")), (&json!("building processes_2"), None));
    let actions: Vec<_> =
        audited(&home).await.iter().map(|entry| entry["action"].as_str().unwrap().to_owned()).collect();
    assert_eq!(actions, ["seek_feed", "seek_feed", "restart_flow", "rebuild_projection"]);
}

#[tokio::test]
async fn what_is_wrong_is_named_and_nothing_is_asked_of_the_flow() {
    let home = with_flows(Home::protected().await).await;
    let many: Vec<String> = (0..1001).map(|n| n.to_string()).collect();
    for (path, body, field) in [
        ("outbox/orders/requeue", json!({}), "all"),
        ("outbox/orders/drop", json!({"limit": 5}), "all"),
        ("outbox/orders/drop", json!({"all": false}), "all"),
        ("outbox/orders/drop", json!({"all": true, "key": "k1"}), "all"),
        ("outbox/orders/requeue", json!({"key": "k1", "limit": 0}), "limit"),
        ("outbox/orders/requeue", json!({"key": "k1", "limit": 10_001}), "limit"),
        ("outbox/orders/requeue", json!({"ids": many}), "ids"),
        ("outbox/orders/requeue", json!({"kye": "k1"}), "kye"),
        ("feed/customers/seek", json!({}), "at"),
        ("feed/customers/seek", json!({"at": 1, "token": "82"}), "token"),
        ("feed/customers/seek", json!({"at": "yesterday"}), "at"),
        ("feed/customers/seek", json!({"at": -1}), "at"),
        ("feed/customers/seek", json!({"token": " "}), "token"),
        ("sink/orders/restart", json!({}), "sink"),
    ] {
        let ask = Ask::new(Method::POST, &format!("/flows/{path}")).token(&["admin"]).body(body.to_string());
        let problem = ask.send(&home).await.problem(400, "bad_request");
        let is_named = problem["field"] == field || problem["detail"].as_str().unwrap().contains(field);
        assert!(is_named, "{path} {body}: {problem}");
    }
    for query in ["status=lost", "limit=0", "limit=1001", "limit=x"] {
        let ask = Ask::new(Method::GET, &format!("/flows/outbox/orders/rows?{query}")).token(&["ops"]);
        ask.send(&home).await.problem(400, "bad_request");
    }
    Ask::new(Method::GET, "/flows?kind=sink").token(&["ops"]).send(&home).await.problem(400, "bad_request");
    assert_eq!(audited(&home).await, [Value::Null; 0]);
    assert_eq!(rows(&home, "error").await.len(), 2);
}

#[tokio::test]
async fn what_does_not_fit_the_kind_of_flow_is_refused() {
    let home = with_flows(Home::open().await).await;
    for path in ["/flows/feed/customers/requeue", "/flows/outbox/orders/seek", "/flows/feed/customers/rebuild"] {
        home.post(path, "{}").await.problem(404, "bad_request");
    }
    home.get("/flows/feed/customers/rows").await.problem(404, "bad_request");
    let refused = home.post("/flows/feed/customers/seek", r#"{"token":"not one"}"#).await.problem(400, "bad_request");
    assert!(refused["detail"].as_str().unwrap().contains("no token"), "{refused}");
    for path in ["/flows/feed/orders", "/flows/outbox/a%2Fb", "/flows/projection/..x"] {
        let unknown = home.get(path).await.problem(404, "unknown_id");
        assert!(unknown["detail"].as_str().unwrap().contains("GET /flows?kind="), "{unknown}");
    }
}

#[tokio::test]
async fn a_change_is_seen_through_when_its_client_leaves() {
    let home = Home::open().await;
    let feed = FlowInMemory::new(FlowKind::Feed, "orders").with_a_silent_database().shared();
    home.flows.add(feed.clone());
    let seek = home.post("/flows/feed/orders/seek", r#"{"at":5}"#);
    assert!(tokio::time::timeout(Duration::from_millis(200), seek).await.is_err(), "it answered without its database");
    feed.mend();
    until("the feed has moved", || async { feed.position().as_deref() == Some("5") }).await;
}

#[tokio::test(start_paused = true)]
async fn a_database_that_does_not_answer_keeps_nobody_waiting() {
    let home = Home::open().await;
    let outbox = FlowInMemory::new(FlowKind::Outbox, "orders").with_a_silent_database().shared();
    home.flows.add(outbox.clone());
    let rows = home.get("/flows/outbox/orders/rows").await.problem(503, "overloaded");
    assert!(rows["detail"].as_str().unwrap().contains("does not answer"), "{rows}");
    for _ in 0..8 {
        let late = home.post("/flows/outbox/orders/restart", "").await.problem(503, "overloaded");
        assert!(late["detail"].as_str().unwrap().contains("still working on it"), "{late}");
    }
    let full = home.post("/flows/outbox/orders/restart", "").await.problem(503, "overloaded");
    assert!(full["detail"].as_str().unwrap().contains("8 changes of flows"), "{full}");
    outbox.mend();
    until("there is room again", || async { home.post("/flows/outbox/orders/restart", "").await.status == 200 }).await;
}
