//! `POST /publish` with many events.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::home::Home;

fn item(topic: &str, n: usize) -> Value {
    json!({"topic": topic, "payload": n})
}

#[tokio::test]
async fn an_array_is_answered_by_an_array_in_its_order() {
    let home = Home::open().await;
    let results = home.post("/publish", json!([item("a", 0), item("b", 1), item("a", 2)]).to_string()).await.json();
    let offsets: Vec<_> = results.as_array().unwrap().iter().map(|receipt| receipt["offset"].clone()).collect();
    assert_eq!(offsets, [0, 0, 1]);
    assert_eq!(home.post("/publish", "[]").await.json(), json!([]));
}

#[tokio::test]
async fn lines_are_answered_by_lines() {
    let home = Home::open().await;
    let body = format!("{}\n\n{}\r\n", item("a", 0), item("a", 1));
    let results = home.post_lines("/publish", body).await.lines();
    assert_eq!(results.len(), 2);
    assert_eq!(results[1]["offset"], 1);
    assert!(home.post_lines("/publish", "").await.lines().is_empty());
}

#[tokio::test]
async fn a_bad_item_is_a_problem_with_its_index_and_spoils_no_other() {
    let home = Home::open().await;
    let body = format!("{}\nnot json\n{}\n{}\n", item("a", 0), item("No", 1), item("a", 2));
    let results = home.post_lines("/publish", body).await.lines();
    assert_eq!(results[0]["offset"], 0);
    assert_eq!((&results[1]["code"], &results[1]["index"]), (&json!("bad_json"), &json!(1)));
    assert_eq!((&results[2]["code"], &results[2]["index"]), (&json!("bad_request"), &json!(2)));
    assert_eq!(results[3]["offset"], 1);
}

#[tokio::test]
async fn lists_are_not_taken_for_events() {
    let home = Home::open().await;
    let results = home.post("/publish", json!([["a", 1], 7, null, {}]).to_string()).await.json();
    let codes: Vec<_> = results.as_array().unwrap().iter().map(|result| result["code"].clone()).collect();
    assert_eq!(codes, ["bad_json", "bad_json", "bad_json", "bad_request"]);
    let told = home.post_lines("/import", "[null,null,\"a\",null,null,null,{},[],[],1]").await.lines();
    assert_eq!(told[0]["error"]["code"], "bad_json");
    assert!(home.bus.topics().await.unwrap().is_empty());
}

#[tokio::test]
async fn an_atomic_batch_is_stored_whole_or_not_at_all() {
    let home = Home::open().await;
    let good = json!([item("a", 0), item("b", 1)]).to_string();
    assert_eq!(home.post("/publish?atomic=1", good).await.json().as_array().unwrap().len(), 2);
    let bad = json!([item("a", 1), {"topic": "a"}]).to_string();
    let problem = home.post("/publish?atomic=1", bad).await.problem(400, "bad_request");
    assert_eq!(problem["index"], 1);
    let reserved = json!([item("a", 1), item("dlq.a", 1)]).to_string();
    home.post("/publish?atomic=true", reserved).await.problem(400, "bad_request");
    assert_eq!(home.get("/replay?topic=a").await.json()["count"], 1);
    home.post("/publish?atomic=maybe", "[]").await.problem(400, "bad_request");
}

#[tokio::test]
async fn the_size_of_an_item_and_the_number_of_items_are_limited() {
    let home = Home::open().await;
    let large = json!({"topic": "a", "payload": "x".repeat((1 << 20) + 1)});
    let results = home.post("/publish", json!([item("a", 0), large]).to_string()).await.json();
    assert_eq!(results[0]["offset"], 0);
    assert_eq!((&results[1]["code"], &results[1]["index"]), (&json!("too_large"), &json!(1)));
    let many = format!("[{}1]", "1,".repeat(10_000));
    home.post("/publish", many).await.problem(413, "too_large");
    home.post_lines("/publish", "1\n".repeat(10_001)).await.problem(413, "too_large");
}

#[tokio::test]
async fn an_array_that_is_not_json_is_refused_whole() {
    let home = Home::open().await;
    home.post("/publish", format!("[{},", item("a", 0))).await.problem(400, "bad_json");
    assert!(home.bus.topics().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_key_program_that_burns_delays_no_one_and_its_publisher_hears_why() {
    let home = Home::open().await;
    home.put("/topics/burns", json!({"key": "[range(100000000)]"})).await.json();
    let events: Vec<Value> = (0..200).map(|n| item("burns", n)).collect();
    let burning = home.post("/publish", Value::from(events).to_string());
    // This runtime has one thread: whatever is late here would be late in a hub.
    let began = Instant::now();
    let others = async {
        home.get("/healthz").await;
        home.post("/publish", item("others", 1).to_string()).await.json();
        began.elapsed()
    };
    let (refused, waited) = tokio::join!(burning, others);
    assert!(waited < Duration::from_secs(2), "others waited for {waited:?}");
    let refused = refused.json();
    let detail = refused[199]["detail"].as_str().unwrap();
    assert!(detail.contains("burns") && detail.contains("costs too much"), "{detail}");
}
