//! `POST /publish` with one event.

use axum::http::Method;
use serde_json::{Value, json};

use crate::home::{Ask, Home};

#[tokio::test]
async fn an_event_is_stored_as_it_was_sent_and_the_receipt_says_where() {
    let home = Home::open().await;
    let id = "0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f";
    let cause = "0190b6ef-8f5c-7cc3-98c4-dc0c0c073990";
    let event = json!({
        "topic": "orders.placed",
        "payload": {"n": 1},
        "opts": {
            "id": id, "ts": 5, "key": "k", "headers": {"x-a": "b"}, "tags": ["t"], "caused_by": [cause], "sid": "s",
            "partition": 0, "unknown": "field",
        },
        "nor": "this",
    });
    let receipt = home.post("/publish", event.to_string()).await.json();
    assert_eq!(receipt["id"], id);
    assert_eq!(
        (&receipt["partition"], &receipt["offset"], &receipt["durability"]),
        (&json!(0), &json!(0), &json!("memory"))
    );
    assert!(receipt["stored_ts"].is_i64());

    let stored = home.get("/replay?topic=orders.placed").await.json()["events"][0].clone();
    let expected = json!({
        "id": id, "ts": 5, "stored_ts": receipt["stored_ts"], "topic": "orders.placed", "partition": 0, "offset": 0,
        "key": "k", "sid": "s", "headers": {"x-a": "b"}, "caused_by": [cause], "tags": ["t"], "payload": {"n": 1},
    });
    assert_eq!(stored, expected);
}

#[tokio::test]
async fn the_same_id_again_gives_the_first_receipt_and_stores_nothing() {
    let home = Home::open().await;
    let event = json!({"topic": "a", "payload": 1, "opts": {"id": "0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f"}}).to_string();
    let mut first = home.post("/publish", event.clone()).await.json();
    assert_eq!(first["duplicate"], Value::Null);
    first["duplicate"] = json!(true);
    assert_eq!(home.post("/publish", event).await.json(), first);
    assert_eq!(home.get("/replay?topic=a").await.json()["count"], 1);
}

#[tokio::test]
async fn a_null_payload_is_a_payload_and_a_missing_one_is_not() {
    let home = Home::open().await;
    home.post("/publish", r#"{"topic":"a","payload":null}"#).await.json();
    assert_eq!(home.get("/replay?topic=a").await.json()["events"][0]["payload"], Value::Null);
    let problem = home.post("/publish", r#"{"topic":"a"}"#).await.problem(400, "bad_request");
    assert!(problem["detail"].as_str().unwrap().contains("payload"), "{problem}");
}

#[tokio::test]
async fn what_is_wrong_is_named_and_stores_nothing() {
    let home = Home::open().await;
    let with = |opts: Value| json!({"topic": "a", "payload": 1, "opts": opts}).to_string();
    for (body, named) in [
        (json!({"topic": 7, "payload": 1}).to_string(), "topic"),
        (json!({"payload": 1}).to_string(), "topic"),
        (json!({"topic": "Not A Topic", "payload": 1}).to_string(), "Not A Topic"),
        (json!({"topic": "dlq.a", "payload": 1}).to_string(), "dlq.a"),
        (json!({"topic": "system.audit", "payload": 1}).to_string(), "system.audit"),
        (json!({"topic": "a", "payload": 1, "opts": 3}).to_string(), "opts"),
        (with(json!({"id": "seven"})), "opts.id"),
        (with(json!({"exact": "yes"})), "opts.exact"),
        (with(json!({"ts": 1.5})), "opts.ts"),
        (with(json!({"ts": "now"})), "opts.ts"),
        (with(json!({"key": 1})), "opts.key"),
        (with(json!({"headers": {"a": "b"}})), "opts.headers"),
        (with(json!({"headers": {"x-a": 1}})), "opts.headers"),
        (with(json!({"tags": "t"})), "opts.tags"),
        (with(json!({"caused_by": ["x"]})), "opts.caused_by"),
        (with(json!({"sid": []})), "opts.sid"),
        (with(json!({"partition": -1})), "opts.partition"),
        (with(json!({"partition": 1})), "partition 1"),
    ] {
        let problem = home.post("/publish", body.clone()).await.problem(400, "bad_request");
        assert!(problem["detail"].as_str().unwrap().contains(named), "{body} → {problem}");
    }
    assert!(home.bus.topics().await.unwrap().is_empty(), "nothing was made");
}

#[tokio::test]
async fn what_is_not_json_is_bad_json() {
    let home = Home::open().await;
    for body in ["", "{", "hello", "{\"topic\":\"a\",\"payload\":}", "\u{0}\u{1}", "{\"topic\":\"a\",\"payload\":NaN}"]
    {
        home.post("/publish", body).await.problem(400, "bad_json");
    }
    home.post("/publish", &b"\xff\xfe"[..]).await.problem(400, "bad_json");
}

#[tokio::test]
async fn deep_and_large_payloads_are_too_large() {
    let home = Home::open().await;
    let deep = format!(r#"{{"topic":"a","payload":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    home.post("/publish", deep).await.problem(413, "too_large");
    let large = json!({"topic": "a", "payload": "x".repeat(2 << 20)}).to_string();
    home.post("/publish", large).await.problem(413, "too_large");
    home.post("/publish", vec![b' '; 17 << 20]).await.problem(413, "too_large");
}

#[tokio::test]
async fn the_trace_of_the_request_goes_on_with_its_event_unless_that_has_its_own() {
    let home = Home::open().await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let own = "00-11111111111111111111111111111111-2222222222222222-01";
    for opts in [json!({}), json!({"headers": {"traceparent": own}})] {
        let body = json!({"topic": "a", "payload": 1, "opts": opts}).to_string();
        Ask::new(Method::POST, "/publish").header("traceparent", trace).body(body).send(&home).await.json();
    }
    let events = home.get("/replay?topic=a").await.json()["events"].clone();
    assert_eq!(events[0]["headers"]["traceparent"], trace);
    assert_eq!(events[1]["headers"]["traceparent"], own);
}
