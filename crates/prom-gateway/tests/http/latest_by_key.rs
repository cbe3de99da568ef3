//! `/latest-by-key`.

use prom_engine::TopicSettings;
use serde_json::{Value, json};

use crate::home::Home;

#[tokio::test]
async fn the_latest_event_of_a_key_whole_or_null() {
    let home = Home::open().await;
    home.bus.create_topic(TopicSettings::new("state").unwrap().compacted().partitions(4)).await.unwrap();
    for (key, value) in
        [("a/1 ü", json!(1)), ("b", json!(2)), ("a/1 ü", json!(3)), ("gone", json!(4)), ("gone", json!(null))]
    {
        home.bus.publish("state", value).key(key).await.unwrap();
    }
    let latest = home.get("/latest-by-key?topic=state&key=a%2F1+%C3%BC").await.json();
    assert_eq!((&latest["payload"], &latest["key"], &latest["topic"]), (&json!(3), &json!("a/1 ü"), &json!("state")));
    assert!(latest["id"].is_string() && latest["offset"].is_u64());
    for key in ["gone", "never"] {
        assert_eq!(home.get(&format!("/latest-by-key?topic=state&key={key}")).await.json(), Value::Null);
    }
}

#[tokio::test]
async fn only_compacted_topics_have_one() {
    let home = Home::open().await;
    home.publish_numbers("a", 1).await;
    let problem = home.get("/latest-by-key?topic=a&key=k0").await.problem(400, "bad_request");
    assert!(problem["detail"].as_str().unwrap().contains("versions = true"), "{problem}");
    home.get("/latest-by-key?topic=b&key=k0").await.problem(404, "unknown_topic");
    home.get("/latest-by-key?topic=a").await.problem(400, "bad_request");
    home.get("/latest-by-key?key=a").await.problem(400, "bad_request");
}
