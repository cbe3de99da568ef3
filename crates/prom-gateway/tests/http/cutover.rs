//! `POST /topics/{topic}/cutover`.

use axum::http::Method;
use prom_engine::TopicOffsets;
use serde_json::{Value, json};

use crate::home::{Answer, Ask, Home, until};
use crate::prove::{begin, fill, heartbeat, renamed};

const PATH: &str = "/topics/heartbeat/cutover";

async fn two_versions(home: &Home) {
    let schema = json!({"schema": heartbeat("mem_mb")}).to_string();
    let register = |body: String| Ask::new(Method::POST, "/topics/heartbeat/schema").token(&["admin"]).body(body);
    register(schema).send(home).await.json();
    register(renamed().to_string()).send(home).await.json();
}

async fn cutover(home: &Home, body: Value) -> Answer {
    home.post(PATH, body.to_string()).await
}

#[tokio::test]
async fn every_event_arrives_in_the_topic_of_the_version_and_the_counts_match() {
    let home = Home::open().await;
    fill(&home, 300).await;
    two_versions(&home).await;
    let lines = cutover(&home, json!({})).await.lines();
    assert!(lines.len() > 1 && lines[0]["progress"]["read"] == 50, "{lines:?}");
    let done = &lines.last().unwrap()["done"];
    assert_eq!((&done["to"], &done["version"]), (&json!("heartbeat.v2"), &json!(2)));
    assert_eq!((&done["read"], &done["written"], &done["adds_up"]), (&json!(300), &json!(300), &json!(true)));
    let events = home.bus.read_topic("heartbeat.v2", TopicOffsets::default(), 1000).await.unwrap().events;
    assert_eq!(events.len(), 300);
    let last: Value = events[299].payload().unwrap();
    assert_eq!(last, json!({"pid": 299, "mem_mib": 1}));
    assert_eq!(done["read_before"], 0);
    let again = cutover(&home, json!({})).await.lines();
    assert_eq!(again[0]["done"]["read_before"], 300);
    assert_eq!((again.len(), &again[0]["done"]["written"]), (1, &json!(300)));
    let audit = home.get("/replay?topic=system.audit").await.json();
    let last = audit["events"].as_array().unwrap().last().unwrap()["payload"].clone();
    assert_eq!(
        (&last["action"], &last["to"], &last["read_before"]),
        (&json!("cutover"), &json!("heartbeat.v2"), &json!(300))
    );
}

#[tokio::test]
async fn a_client_that_leaves_stops_it_and_the_next_one_goes_on() {
    let home = Home::open().await;
    fill(&home, 8_000).await;
    two_versions(&home).await;
    let held = begin(&home, PATH, &json!({"to": "held"}), &[]).await;
    let left = begin(&home, PATH, &json!({}), &[]).await;
    let third = json!({"to_collection": "third"});
    cutover(&home, third.clone()).await.problem(503, "overloaded");
    drop(left);
    until("its place is free", || async { cutover(&home, third.clone()).await.status == 200 }).await;
    let stored = async || home.bus.bounds("heartbeat.v2").await.unwrap()[0].next;
    let halfway = stored().await;
    assert!((50..8_000).contains(&halfway), "{halfway}: it was not stopped");
    let lines = cutover(&home, json!({})).await.lines();
    assert!(lines[0]["progress"]["read"].as_u64().unwrap() > halfway, "it began anew");
    let done = &lines.last().unwrap()["done"];
    assert_eq!((&done["read"], &done["written"], &done["already"]), (&json!(8_000), &json!(8_000), &json!(0)));
    assert_eq!(stored().await, 8_000);
    drop(held);
}

#[tokio::test]
async fn what_does_not_fit_ends_it_with_its_place_or_is_skipped() {
    let home = Home::open().await;
    fill(&home, 60).await;
    let odd = home.bus.publish("heartbeat", json!({"pid": "text", "mem_mb": 1})).await.unwrap();
    two_versions(&home).await;
    let lines = cutover(&home, json!({})).await.lines();
    let error = &lines.last().unwrap()["error"];
    assert_eq!(error["code"], "schema_invalid", "{error}");
    let detail = error["detail"].as_str().unwrap();
    assert!(
        detail.contains(&odd.id.to_string()) && detail.contains("offset 60") && detail.contains("/pid"),
        "{detail}"
    );
    let lines = cutover(&home, json!({"skip_unfit": true})).await.lines();
    let done = &lines.last().unwrap()["done"];
    assert_eq!((&done["written"], &done["skipped"], &done["adds_up"]), (&json!(60), &json!(1), &json!(true)));
}

#[tokio::test]
async fn a_collection_gets_the_latest_event_of_each_key() {
    let home = Home::open().await;
    fill(&home, 100).await;
    two_versions(&home).await;
    let lines = cutover(&home, json!({"to_collection": "heartbeats"})).await.lines();
    let done = &lines.last().unwrap()["done"];
    assert_eq!((&done["to"], &done["written"]), (&json!("collection heartbeats"), &json!(100)));
    let document = home.bus.document("data.heartbeats", "1").await.unwrap().unwrap();
    let event: Value = serde_json::from_slice(&document.value).unwrap();
    assert_eq!((&event["key"], &event["payload"]["pid"]), (&json!("1"), &json!(99)));
}

#[tokio::test]
async fn it_needs_the_right_to_administer_topic_and_target_and_to_read_the_topic() {
    let home = Home::protected().await;
    fill(&home, 3).await;
    let ask = |body: Value, scopes: &[&str]| Ask::new(Method::POST, PATH).body(body.to_string()).token(scopes);
    let both = ["admin:heartbeat.**", "subscribe:heartbeat"];
    ask(json!({}), &both).send(&home).await.problem(404, "unknown_topic");
    two_versions(&home).await;
    // Reasons quote events, and the target can be one that the caller reads.
    for scopes in [
        &["admin:heartbeat.**"][..],
        &["admin:heartbeat", "subscribe"],
        &["admin:heartbeat.v2", "subscribe"],
        &["subscribe", "publish", "ops"],
    ] {
        ask(json!({}), scopes).send(&home).await.problem(403, "forbidden");
    }
    ask(json!({"to": "other"}), &both).send(&home).await.problem(403, "forbidden");
    ask(json!({"to_collection": "a"}), &both).send(&home).await.problem(403, "forbidden");
    assert!(home.bus.topic_settings("heartbeat.v2").await.is_err(), "a refusal made the topic");
    assert!(home.bus.topic_settings("other").await.is_err(), "a refusal made the topic");
    ask(json!({}), &both).send(&home).await.lines();
}

#[tokio::test]
async fn odd_targets_are_refused() {
    let home = Home::open().await;
    fill(&home, 3).await;
    two_versions(&home).await;
    for (body, told) in [
        (json!({"to": "heartbeat"}), "the topic itself"),
        (json!({"to": "system.audit"}), "belongs to the hub"),
        (json!({"to": "a", "to_collection": "b"}), "one target"),
        (json!({"to_collection": "to.pics"}), "a-z"),
        (json!({"to": "a", "to_snapshot": true}), "one target"),
        (json!({"to_snapshot": true, "fields": ["pid"]}), "only a collection"),
        (json!({"to_snapshots": true}), "to_snapshots"),
    ] {
        let problem = cutover(&home, body).await.problem(400, "bad_request");
        assert!(problem["detail"].as_str().unwrap().contains(told), "{problem}");
    }
}

#[tokio::test]
async fn letting_a_topic_be_written_to_twice_needs_the_right_to_the_topics_of_its_versions() {
    let home = Home::protected().await;
    let put = |scopes: &[&str]| Ask::new(Method::PUT, "/topics/a.x").body(r#"{"dual_write":{}}"#).token(scopes);
    put(&["admin:a.x"]).send(&home).await.problem(403, "forbidden");
    put(&["admin:a.x", "admin:a.x.v1"]).send(&home).await.problem(403, "forbidden");
    assert_eq!(put(&["admin:a.**"]).send(&home).await.status, 200);
}

#[tokio::test]
async fn a_snapshot_gets_the_latest_event_of_each_key_and_tells_how_it_is_read() {
    let home = Home::open().await;
    fill(&home, 100).await;
    two_versions(&home).await;
    let lines = cutover(&home, json!({"to_snapshot": true})).await.lines();
    let done = &lines.last().unwrap()["done"];
    let snapshot = &done["snapshot"];
    assert_eq!((&done["to"], &done["adds_up"]), (&json!("heartbeat.snapshot.v2"), &json!(true)));
    assert_eq!((&done["read"], &snapshot["snapshot_topic"]), (&snapshot["count"], &json!("heartbeat.snapshot.v2")));
    let replay = async |topic: &str, next: &Value| {
        home.get(&format!("/replay?topic={topic}&next={}", next.as_str().unwrap())).await.json()["events"].clone()
    };
    let events = replay("heartbeat.snapshot.v2", &snapshot["snapshot_next"]).await;
    let keys = snapshot["count"].as_u64().unwrap() as usize;
    assert_eq!(events.as_array().unwrap().len(), keys + 1);
    assert!(events[0]["payload"]["payload"]["mem_mib"].is_number(), "{}", events[0]);
    assert_eq!(events[keys]["payload"]["covered_offset"], 100);
    assert_eq!(replay("heartbeat", &snapshot["events_next"]).await, json!([]));
    let again = cutover(&home, json!({"to_snapshot": true})).await.lines();
    let again = &again.last().unwrap()["done"];
    assert_eq!((&again["snapshot"], &again["read_before"]), (snapshot, &json!(keys)));
}

#[tokio::test]
async fn a_snapshot_needs_the_right_to_administer_all_topics_that_it_writes() {
    let home = Home::protected().await;
    fill(&home, 3).await;
    two_versions(&home).await;
    let ask = |scopes: &[&str]| Ask::new(Method::POST, PATH).body(r#"{"to_snapshot":true}"#).token(scopes);
    for scopes in [
        &["admin:heartbeat", "subscribe"][..],
        &["admin:heartbeat", "admin:heartbeat.snapshot", "subscribe"],
        &["admin:heartbeat", "admin:heartbeat.snapshot.v2", "subscribe"],
        &["admin:heartbeat.**"],
    ] {
        ask(scopes).send(&home).await.problem(403, "forbidden");
    }
    for topic in ["heartbeat.snapshot", "heartbeat.snapshot.v2"] {
        assert!(home.bus.topic_settings(topic).await.is_err(), "a refusal made {topic}");
    }
    ask(&["admin:heartbeat.**", "subscribe:heartbeat"]).send(&home).await.lines();
}
