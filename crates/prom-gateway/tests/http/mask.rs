//! Masks: what a topic hides leaves by no route to those who do not administer it.

use std::time::Duration;

use axum::http::Method;
use prom_engine::{Position, TopicSettings};
use serde_json::{Value, json};

use crate::home::{Answer, Ask, Home, until};

const SECRET: &str = "4242-4242";
const PLAIN: &[&str] = &["subscribe:**", "subscribe:dlq.**", "ops:**", "ops:dlq.**"];
const ADMIN: &[&str] = &["*:**", "subscribe:dlq.**"];

async fn masked() -> Home {
    let home = Home::protected().await;
    let settings = TopicSettings::new("orders").unwrap().compacted().mask(["/card/number", "/items/*/price"]);
    home.bus.create_topic(settings).await.unwrap();
    let payload =
        json!({"card": {"number": SECRET, "holder": "A"}, "items": [{"name": "x", "price": 77001}], "total": 1.50});
    home.bus.publish("orders", payload).key("k").await.unwrap();
    home
}

async fn ask(home: &Home, path: &str, scopes: &[&str]) -> Answer {
    Ask::new(Method::GET, path).token(scopes).send(home).await
}

#[track_caller]
fn shows_nothing(answer: &Answer, path: &str) {
    assert!(answer.status.is_success(), "{path}: {}", answer.text());
    let text = answer.text();
    assert!(!text.contains(SECRET) && !text.contains("77001"), "{path} shows it: {text}");
    assert!(text.contains("[masked]"), "{path}: {text}");
}

#[tokio::test]
async fn every_way_to_read_events_hides_it_from_readers_and_shows_it_to_administrators() {
    let home = masked().await;
    // A group gives up on it, and quotes it.
    let group = home.bus.subscribe("orders", "bad").from(Position::Earliest).max_attempts(1);
    let mut bad = group.start().await.unwrap();
    bad.next().await.unwrap().nack(&format!("cannot charge {SECRET}")).await.unwrap();
    until("the letter is written", || async { home.bus.bounds("dlq.orders").await.is_ok_and(|b| b[0].next == 1) })
        .await;
    // Copies of it elsewhere.
    for (topic, payload) in [
        ("orders.v2", json!({"card": {"number": SECRET}})),
        ("orders.snapshot", json!({"key": "k", "payload": {"card": {"number": SECRET}}})),
    ] {
        home.bus.publish(topic, payload).await.unwrap();
    }
    let schema = json!({"schema": {"type": "object"}}).to_string();
    Ask::new(Method::POST, "/topics/orders/schema").token(ADMIN).body(schema).send(&home).await.json();
    let cutover = json!({"to_collection": "orders", "fields": ["card.number", "card.holder"]}).to_string();
    Ask::new(Method::POST, "/topics/orders/cutover").token(ADMIN).body(cutover).send(&home).await.lines();

    for path in [
        "/replay?topic=orders",
        "/replay?topic=orders&live=sse&limit=1",
        "/export?topic=orders",
        "/export?topic=orders&format=cloudevents",
        "/latest-by-key?topic=orders&key=k",
        "/at?topic=orders&key=k&ts=4102444800000",
        "/at?topic=orders&ts=4102444800000",
        "/diff?topic=orders&from=0&to=4102444800000",
        "/search?topic=orders",
        "/replay?topic=dlq.orders",
        "/search?topic=dlq.orders",
        "/export?topic=orders.v2",
        "/replay?topic=orders.snapshot",
        "/snap/orders/k",
        "/list/orders",
        "/list/orders?card.holder=A",
    ] {
        shows_nothing(&ask(&home, path, PLAIN).await, path);
        let whole = ask(&home, path, ADMIN).await;
        assert!(whole.text().contains(SECRET) && !whole.text().contains("[masked]"), "{path}: {}", whole.text());
    }
    // The rest leaves as it was.
    let shown = ask(&home, "/replay?topic=orders", PLAIN).await;
    assert!(shown.text().contains(r#""items":[{"name":"x","price":"[masked]"}],"total":1.5"#), "{}", shown.text());
}

/// The upcaster moves what the mask names.
#[tokio::test]
async fn what_an_upcaster_moved_is_hidden_in_every_target_of_a_cutover() {
    let home = masked().await;
    let register = async |body: Value| {
        Ask::new(Method::POST, "/topics/orders/schema").token(ADMIN).body(body.to_string()).send(&home).await.json()
    };
    register(json!({"schema": {"type": "object"}})).await;
    let moved = ".moved = .card.number | del(.card)";
    let second = json!({"schema": {"type": "object", "required": ["moved"]}, "compat": "upcast", "upcast": moved});
    register(second).await;
    let cutover = Ask::new(Method::POST, "/topics/orders/cutover").token(ADMIN).body(r#"{"to_snapshot":true}"#);
    assert_eq!(cutover.send(&home).await.lines().last().unwrap()["done"]["written"], 1);
    for body in [json!({}), json!({"to_collection": "moved", "fields": ["moved"]})] {
        let cutover = Ask::new(Method::POST, "/topics/orders/cutover").token(ADMIN).body(body.to_string());
        assert_eq!(cutover.send(&home).await.lines().last().unwrap()["done"]["written"], 1);
    }
    ask(&home, "/list/moved?moved=4242-4242", PLAIN).await.problem(403, "forbidden");
    for path in [
        "/replay?topic=orders.v2",
        "/export?topic=orders.v2",
        "/search?topic=orders.v2",
        "/latest-by-key?topic=orders.v2&key=k",
        "/at?topic=orders.v2&key=k&ts=4102444800000",
        "/diff?topic=orders.v2&from=0&to=4102444800000",
        "/snap/moved/k",
        "/list/moved",
        "/replay?topic=orders.snapshot.v2",
        "/export?topic=orders.snapshot.v2",
        "/search?topic=orders.snapshot.v2",
        "/at?topic=orders.snapshot.v2&key=k&ts=4102444800000",
        "/diff?topic=orders.snapshot.v2&from=0&to=4102444800000",
    ] {
        shows_nothing(&ask(&home, path, PLAIN).await, path);
        assert!(ask(&home, path, ADMIN).await.text().contains(SECRET), "{path}");
    }
}

#[tokio::test]
async fn what_is_hidden_cannot_be_found_out_by_asking_for_it() {
    let home = masked().await;
    let id = home.bus.read("orders", 0, 0, 1).await.unwrap().events[0].id();
    let matched = async |query: &str, scopes: &[&str]| {
        ask(&home, &format!("/search?topic=orders&{query}"), scopes).await.json()["matched"].clone()
    };
    for query in [
        "text=4242",
        "jq=.payload.card.number%20%3D%3D%20%224242-4242%22",
        "jq=.payload.items%5B0%5D.price%20%3E%2070000",
    ] {
        // Text is greater than any number in jq: a masked one says the same of every event.
        if !query.contains("price") {
            assert_eq!(matched(query, PLAIN).await, 0, "{query}");
        }
        assert_eq!(matched(query, ADMIN).await, 1, "{query}");
    }
    assert_eq!(matched("jq=.payload.items%5B0%5D.price%20%3D%3D%2077001", PLAIN).await, 0);
    assert_eq!(matched("text=total", PLAIN).await, 1);
    let told = ask(&home, "/search?topic=orders&jq=.payload.card.number%20%7C%20error", PLAIN).await;
    assert!(!told.text().contains(SECRET), "{}", told.text());

    let schema = json!({"schema": {"type": "object"}}).to_string();
    Ask::new(Method::POST, "/topics/orders/schema").token(ADMIN).body(schema).send(&home).await.json();
    let cutover = json!({"to_collection": "orders", "fields": ["card.number"]}).to_string();
    Ask::new(Method::POST, "/topics/orders/cutover").token(ADMIN).body(cutover).send(&home).await.lines();
    ask(&home, "/list/orders?card.number=4242-4242", PLAIN).await.problem(403, "forbidden");
    assert_eq!(ask(&home, "/list/orders?card.number=4242-4242", ADMIN).await.json()["count"], 1);

    let candidate = json!({"schema": {"properties": {"card": {"properties": {"number": {"const": "1"}}}}}}).to_string();
    let prove = Ask::new(Method::POST, "/topics/orders/schema/prove").token(&["subscribe:**"]).body(candidate);
    prove.send(&home).await.problem(403, "forbidden");

    let slow = home.bus.subscribe("orders", "slow").from(Position::Earliest).max_attempts(9);
    let mut slow = slow.backoff(Duration::from_secs(600), Duration::from_secs(600)).start().await.unwrap();
    slow.next().await.unwrap().nack(&format!("about {SECRET}")).await.unwrap();
    let traced = ask(&home, &format!("/trace/{id}"), PLAIN).await;
    assert!(traced.text().contains("\"attempts\":1") && !traced.text().contains(SECRET), "{}", traced.text());
    assert!(ask(&home, &format!("/trace/{id}"), ADMIN).await.text().contains(SECRET));

    let why = ask(&home, "/why?topic=orders&group=slow", &["ops:orders"]).await;
    assert!(why.text().contains("last error: [masked]") && !why.text().contains(SECRET), "{}", why.text());
    assert!(ask(&home, "/why?topic=orders&group=slow", ADMIN).await.text().contains(SECRET));
}

#[tokio::test]
async fn a_filter_of_a_group_does_not_see_it_either() {
    let home = masked().await;
    let program = format!(".payload.card.number == {}", Value::from(SECRET));
    let spy = home.bus.subscribe("orders", "spy").from(Position::Earliest).filter(&program);
    let mut spy = spy.start().await.unwrap();
    let open = r#".payload.card.number == "[masked]" and .payload.total == 1.5"#;
    let fair = home.bus.subscribe("orders", "fair").from(Position::Earliest).filter(open);
    let mut fair = fair.start().await.unwrap();
    // What is handed out is whole: who consumes is decided where it leaves the hub.
    assert_eq!(fair.next().await.unwrap().payload::<Value>().unwrap()["card"]["number"], SECRET);
    until("the other one is filtered out", || async { home.bus.lag("orders", "spy").await.unwrap().lag_events == 0 })
        .await;
    assert!(futures::FutureExt::now_or_never(spy.next()).is_none());
}

#[tokio::test]
async fn a_mask_is_set_and_ended_on_purpose_only() {
    let home = masked().await;
    let put = async |body: Value| {
        Ask::new(Method::PUT, "/topics/orders").token(ADMIN).body(body.to_string()).send(&home).await
    };
    let problem = put(json!({"compaction": true})).await.problem(400, "bad_request");
    assert_eq!(problem["field"], "mask");
    shows_nothing(&ask(&home, "/replay?topic=orders", PLAIN).await, "replay");
    let view = ask(&home, "/topics/orders", PLAIN).await.json();
    assert_eq!(view["settings"]["mask"], json!(["/card/number", "/items/*/price"]));
    for wrong in [json!(["card"]), json!(["/a~2"]), json!(vec!["/a"; 65])] {
        assert_eq!(put(json!({"compaction": true, "mask": wrong})).await.status, 400, "{wrong}");
    }
    assert_eq!(put(json!({"compaction": true, "mask": []})).await.json()["mask"], Value::Null);
    assert!(ask(&home, "/replay?topic=orders", PLAIN).await.text().contains(SECRET));
}
