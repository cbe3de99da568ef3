//! `POST /topics/{topic}/schema/prove`.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use prom_engine::Position;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::home::{Ask, Home, Movable, token, until};

pub fn heartbeat(memory: &str) -> Value {
    json!({"type": "object", "properties": {"pid": {"type": "integer"}, memory: {"type": "number"}}, "required": ["pid", memory]})
}

pub fn renamed() -> Value {
    json!({"schema": heartbeat("mem_mib"), "compat": "upcast", "upcast": ".mem_mib = .mem_mb | del(.mem_mb)"})
}

pub async fn fill(home: &Home, count: u64) {
    for number in 0..count {
        let key = (number % 7).to_string();
        home.bus.publish("heartbeat", json!({"pid": number, "mem_mb": 1})).key(key).await.unwrap();
    }
}

const PATH: &str = "/topics/heartbeat/schema/prove";

#[tokio::test]
async fn what_would_fail_is_told_with_its_place_and_the_groups_that_read_it() {
    let home = Home::open().await;
    fill(&home, 300).await;
    let odd = home.bus.publish("heartbeat", json!({"pid": "text", "mem_mb": 1})).await.unwrap();
    for (pattern, group) in [("heartbeat", "billing"), ("**", "archive"), ("other", "elsewhere")] {
        home.bus.subscribe(pattern, group).from(Position::Latest).start().await.unwrap().unsubscribe().await;
    }
    home.post("/topics/heartbeat/schema", json!({"schema": {"type": "object"}}).to_string()).await.json();
    let lines = home.post(PATH, renamed().to_string()).await.lines();
    assert!(lines.len() > 1, "progress is told");
    let first = &lines[0]["progress"];
    assert_eq!((&first["scanned"], &first["left"]), (&json!(50), &json!(251)), "{first}");
    let done = &lines.last().unwrap()["done"];
    assert_eq!((&done["scanned"], &done["failed"], &done["version"]), (&json!(301), &json!(1), &json!(2)), "{done}");
    assert_eq!((&done["groups"], &done["hidden"]), (&json!(["archive", "billing"]), &json!(0)));
    let failure = &done["failures"][0];
    assert_eq!((&failure["id"], &failure["offset"]), (&json!(odd.id.to_string()), &json!(300)));
    assert!(failure["reason"].as_str().unwrap().contains("/pid"), "{failure}");
    assert_eq!(home.get("/topics/heartbeat/schema").await.json()["versions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn it_needs_the_right_to_read_and_names_the_groups_that_the_token_may_see() {
    let home = Home::protected().await;
    fill(&home, 3).await;
    for group in ["ours", "theirs"] {
        home.bus.subscribe("heartbeat", group).from(Position::Latest).start().await.unwrap().unsubscribe().await;
    }
    let first = json!({"schema": heartbeat("mem_mb")}).to_string();
    let ask = |scopes: &[&str]| Ask::new(Method::POST, PATH).body(first.clone()).token(scopes);
    for scope in ["publish:heartbeat", "ops:heartbeat", "admin:heartbeat", "subscribe:other"] {
        ask(&[scope]).send(&home).await.problem(403, "forbidden");
    }
    let done =
        |scopes: &'static [&str]| async { ask(scopes).send(&home).await.lines().last().unwrap()["done"].clone() };
    let blind = done(&["subscribe:heartbeat"]).await;
    assert_eq!((&blind["groups"], &blind["hidden"]), (&json!([]), &json!(2)));
    let some = done(&["subscribe:heartbeat", "ops:heartbeat@ours"]).await;
    assert_eq!((&some["groups"], &some["hidden"]), (&json!(["ours"]), &json!(1)));
}

#[tokio::test]
async fn bad_candidates_and_unknown_topics_are_refused_at_once() {
    let home = Home::open().await;
    home.post(PATH, renamed().to_string()).await.problem(404, "unknown_topic");
    fill(&home, 1).await;
    home.post(PATH, json!({"schema": {"type": "strung"}}).to_string()).await.problem(400, "bad_request");
    let bad_jq = json!({"schema": heartbeat("mem_mib"), "upcast": "}"}).to_string();
    home.post("/topics/heartbeat/schema", json!({"schema": heartbeat("mem_mb")}).to_string()).await.json();
    home.post(PATH, bad_jq).await.problem(400, "bad_request");
    home.post(PATH, "{}").await.problem(400, "bad_request");
}

/// A proof whose reader has read one line and then stopped reading.
pub async fn begin(home: &Home, path: &str, body: &Value, scopes: &[&str]) -> Body {
    let request = Request::builder().method("POST").uri(path);
    let request = request.header("authorization", format!("Bearer {}", token(scopes)));
    let response = home.router().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut body = response.into_body();
    body.frame().await.unwrap().unwrap();
    body
}

#[tokio::test]
async fn only_so_many_run_at_once_and_a_client_that_leaves_makes_room() {
    let home = Home::open().await;
    fill(&home, 8_000).await;
    let body = json!({"schema": heartbeat("mem_mb")});
    let one = begin(&home, PATH, &body, &[]).await;
    let other = begin(&home, PATH, &body, &[]).await;
    let refused = home.post(PATH, body.to_string()).await.problem(503, "overloaded");
    assert!(refused["detail"].as_str().unwrap().contains("2 proofs of schemas at once"), "{refused}");
    assert!(refused["retry_after_ms"].is_u64());
    drop(one);
    until("a place is free", || async { home.post(PATH, body.to_string()).await.status == 200 }).await;
    drop(other);
}

#[tokio::test]
async fn it_ends_with_the_token() {
    let clock = Movable::new();
    let home = Home::protected_by(clock.clone()).await;
    fill(&home, 8_000).await;
    let body = begin(&home, PATH, &json!({"schema": heartbeat("mem_mb")}), &["subscribe"]).await;
    clock.put_forward_two_days();
    let rest = body.collect().await.unwrap().to_bytes();
    let last: Value = serde_json::from_slice(rest.split(|byte| *byte == b'\n').rev().nth(1).unwrap()).unwrap();
    assert_eq!(last["error"]["code"], "jwt_expired", "{last}");
}
