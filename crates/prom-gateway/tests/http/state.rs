//! `/snap` and `/list`: collections that a cutover fills.

use axum::http::Method;
use prom_types::{Json, NewEvent, TopicName};
use serde_json::{Value, json};

use crate::home::{Answer, Ask, Home};

async fn publish(home: &Home, key: &str, payload: &str) {
    let topic = TopicName::parse("process").unwrap();
    let payload = Json::parse(payload.to_owned()).unwrap();
    home.bus.publish_event(NewEvent { key: Some(key.to_owned()), ..NewEvent::new(topic, payload) }).await.unwrap();
}

async fn cutover(home: &Home) {
    let body = json!({"to_collection": "processes", "fields": ["status", "at.host"]}).to_string();
    let lines = Ask::new(Method::POST, "/topics/process/cutover").token(&["*"]).body(body).send(home).await.lines();
    assert!(lines.last().unwrap()["done"].is_object(), "{lines:?}");
}

async fn schema(home: &Home) {
    let body = json!({"schema": {"type": "object"}}).to_string();
    Ask::new(Method::POST, "/topics/process/schema").token(&["*"]).body(body).send(home).await.json();
}

/// 30 processes on three hosts; every fifth is stale.
async fn filled() -> Home {
    let home = Home::protected().await;
    for n in 0..30 {
        let status = if n % 5 == 0 { "stale" } else { "alive" };
        publish(
            &home,
            &format!("p{n:02}"),
            &json!({"status": status, "at": {"host": format!("h{}", n % 3)}}).to_string(),
        )
        .await;
    }
    schema(&home).await;
    cutover(&home).await;
    home
}

async fn get(home: &Home, path: &str) -> Answer {
    Ask::new(Method::GET, path).token(&["subscribe:process"]).send(home).await
}

fn keys(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["key"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_document_has_a_tag_that_changes_exactly_when_it_does() {
    let home = filled().await;
    let snap = get(&home, "/snap/processes/p07").await;
    assert_eq!(snap.json()["payload"]["status"], "alive");
    assert_eq!(snap.headers["cache-control"], "private, no-cache");
    let tag = snap.headers["etag"].to_str().unwrap().to_owned();
    assert!(tag.starts_with('"'), "{tag} is not strong");
    let ask = async |method: Method, tag: &str| {
        let ask = Ask::new(method, "/snap/processes/p07").token(&["subscribe:process"]);
        ask.header("if-none-match", tag).send(&home).await
    };
    let known = ask(Method::GET, &tag).await;
    assert_eq!((known.status.as_u16(), known.body.len(), &known.headers["etag"]), (304, 0, &snap.headers["etag"]));
    assert_eq!(ask(Method::HEAD, &tag).await.status, 304);
    let head = ask(Method::HEAD, "\"another\"").await;
    assert_eq!((head.status.as_u16(), head.body.len()), (200, 0));
    for name in ["etag", "content-type", "cache-control", "content-length"] {
        assert_eq!(head.headers[name], snap.headers[name], "{name}");
    }
    // What changes others changes nothing here.
    publish(&home, "p08", r#"{"status":"stale"}"#).await;
    cutover(&home).await;
    assert_eq!(ask(Method::GET, &tag).await.status, 304);
    publish(&home, "p07", r#"{"status":"stale"}"#).await;
    cutover(&home).await;
    let changed = ask(Method::GET, &tag).await;
    assert_eq!(changed.json()["payload"]["status"], "stale");
    assert_ne!(changed.headers["etag"], snap.headers["etag"]);
    publish(&home, "p07", "null").await;
    cutover(&home).await;
    ask(Method::GET, &tag).await.problem(404, "unknown_id");
}

#[tokio::test]
async fn lists_are_in_the_order_of_keys_and_their_count_is_exact() {
    let home = filled().await;
    let list = get(&home, "/list/processes?limit=4&offset=10").await.json();
    assert_eq!((&list["offset"], &list["limit"], &list["count"]), (&json!(10), &json!(4), &json!(30)));
    assert_eq!(keys(&list), ["p10", "p11", "p12", "p13"]);
    let (mut seen, mut query) = (Vec::new(), String::new());
    loop {
        let list = get(&home, &format!("/list/processes?limit=7{query}")).await.json();
        seen.extend(keys(&list).into_iter().map(str::to_owned));
        match list["next"].as_str() {
            Some(after) => query = format!("&after={after}"),
            None => break,
        }
    }
    assert_eq!(seen, (0..30).map(|n| format!("p{n:02}")).collect::<Vec<_>>());
    for (query, count, first) in [
        ("status=stale", 6, "p00"),
        ("status=alive", 24, "p01"),
        ("at.host=h1", 10, "p01"),
        ("status=stale&at.host=h1", 2, "p10"),
        ("status=stale&at.host=h1&offset=1", 2, "p25"),
        ("status=stale&limit=2&after=p05", 6, "p10"),
    ] {
        let list = get(&home, &format!("/list/processes?{query}")).await.json();
        assert_eq!((&list["count"], keys(&list)[0]), (&json!(count), first), "{query}");
    }
    for query in ["status=gone", "status=", "status=stale&at.host=h9"] {
        let list = get(&home, &format!("/list/processes?{query}")).await.json();
        assert_eq!((&list["count"], keys(&list).len()), (&json!(0), 0), "{query}");
    }
}

#[tokio::test]
async fn counts_follow_what_changes_and_what_is_deleted() {
    let home = filled().await;
    for (key, payload) in
        [("p00", "null"), ("p05", r#"{"status":"alive"}"#), ("p99", r#"{"status":"new"}"#), ("p98", "null")]
    {
        publish(&home, key, payload).await;
    }
    cutover(&home).await;
    for (query, count) in [("", 30), ("status=stale", 4), ("status=alive", 25), ("status=new", 1), ("at.host=h0", 9)] {
        let list = get(&home, &format!("/list/processes?{query}")).await.json();
        assert_eq!(list["count"], count, "{query}");
        assert_eq!(keys(&list).len(), count, "{query}");
    }
    let before = get(&home, "/list/processes?status=new").await;
    let tag = before.headers["etag"].to_str().unwrap();
    let again = Ask::new(Method::GET, "/list/processes?status=new").token(&["subscribe:process"]);
    assert_eq!(again.header("if-none-match", tag).send(&home).await.status, 304);
}

#[tokio::test]
async fn who_may_not_read_the_topic_learns_nothing_and_no_collection_of_the_hub_is_readable() {
    let home = filled().await;
    let ask = async |path: &str, scope: &str| Ask::new(Method::GET, path).token(&[scope]).send(&home).await;
    for path in ["/snap/processes/p01", "/snap/nothing/p01", "/list/processes", "/list/nothing"] {
        let refused = ask(path, "subscribe:other").await;
        refused.problem(403, "forbidden");
        let told = refused.text().replace("processes", "X").replace("nothing", "X");
        assert!(!told.contains("process"), "{told}");
        ask(path, "ops").await.problem(403, "forbidden");
    }
    for name in ["topics", "groups", "folds", "collections", "schemas", "cutovers"] {
        ask(&format!("/list/{name}"), "*").await.problem(404, "unknown_id");
        ask(&format!("/snap/{name}/process"), "*").await.problem(404, "unknown_id");
    }
    for name in ["data.processes", "..%2Ftopics", "Topics"] {
        ask(&format!("/list/{name}"), "*").await.problem(400, "bad_request");
    }
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let home = filled().await;
    for (query, named) in [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("offset=10001", "after"),
        ("offset=1&after=p1", "after"),
        ("host=h1", "status"),
    ] {
        let problem = get(&home, &format!("/list/processes?{query}")).await.problem(400, "bad_request");
        assert!(problem["detail"].as_str().unwrap().contains(named), "{query}: {problem}");
    }
    let post = async |body: Value| {
        let ask = Ask::new(Method::POST, "/topics/process/cutover").token(&["*"]);
        ask.body(body.to_string()).send(&home).await
    };
    post(json!({"to_collection": "processes", "fields": ["status"]})).await.problem(400, "bad_request");
    post(json!({"to_collection": "fresh", "fields": ["limit"]})).await.problem(400, "bad_request");
    post(json!({"to": "fresh", "fields": ["status"]})).await.problem(400, "bad_request");
    get(&home, "/list/fresh").await.problem(403, "forbidden");
}

#[tokio::test]
async fn numbers_leave_digit_by_digit() {
    let home = Home::protected().await;
    publish(&home, "a", r#"{"status":1.50,"big":123456789012345678901234567890}"#).await;
    schema(&home).await;
    cutover(&home).await;
    let snap = get(&home, "/snap/processes/a").await;
    assert!(snap.text().contains(r#""status":1.50,"big":123456789012345678901234567890"#), "{}", snap.text());
    assert_eq!(get(&home, "/list/processes?status=1.50").await.json()["count"], 1);
    assert!(get(&home, "/list/processes").await.text().contains("123456789012345678901234567890"));
}
