//! `opts.expect` over HTTP.

use prom_engine::TopicSettings;
use serde_json::{Value, json};

use crate::home::Home;

async fn with_accounts() -> Home {
    let home = Home::open().await;
    home.bus.create_topic(TopicSettings::new("accounts").unwrap().versions()).await.unwrap();
    home
}

fn event(key: &str, expect: Value) -> Value {
    json!({"topic": "accounts", "payload": 1, "opts": {"key": key, "expect": expect}})
}

#[tokio::test]
async fn what_is_not_as_expected_is_a_conflict_that_says_what_is_so() {
    let home = with_accounts().await;
    let publish = async |expect: Value| home.post("/publish", event("a", expect).to_string()).await;
    assert_eq!(publish(json!({"key_offset": null})).await.json()["offset"], 0);
    let problem = publish(json!({"key_offset": null})).await.problem(409, "conflict");
    assert_eq!((&problem["actual"], &problem["index"]), (&json!({"key_offset": 0}), &Value::Null));
    let problem = publish(json!({"offset": 7})).await.problem(409, "conflict");
    assert_eq!(problem["actual"], json!({"offset": 1}));
    assert_eq!(publish(problem["actual"].clone()).await.json()["offset"], 1, "it can be expected next");
    assert_eq!(home.get("/replay?topic=accounts").await.json()["count"], 2);
}

#[tokio::test]
async fn a_wrong_expectation_is_refused_by_name_and_never_ignored() {
    let home = with_accounts().await;
    let both = json!({"offset": 0, "key_offset": 0});
    for wrong in [json!({}), json!({"offset": null}), json!({"offset": -1}), json!(3), json!("0"), both, json!([])] {
        let problem = home.post("/publish", event("a", wrong).to_string()).await.problem(400, "bad_request");
        assert!(problem["detail"].as_str().unwrap().contains("opts.expect"), "{problem}");
    }
    let keyless = json!({"topic": "accounts", "payload": 1, "opts": {"expect": {"key_offset": null}}});
    home.post("/publish", keyless.to_string()).await.problem(400, "bad_request");
    let plain = json!({"topic": "plain", "payload": 1, "opts": {"key": "a", "expect": {"key_offset": null}}});
    let problem = home.post("/publish", plain.to_string()).await.problem(400, "bad_request");
    assert!(problem["detail"].as_str().unwrap().contains("versions = true"), "{problem}");
    assert_eq!(home.get("/replay?topic=accounts").await.json()["count"], 0);
}

#[tokio::test]
async fn a_batch_has_a_result_for_each_unless_it_is_atomic() {
    let home = with_accounts().await;
    let batch = json!([
        event("a", json!({"key_offset": null})),
        event("a", json!({"key_offset": null})),
        event("b", json!({"offset": 1}))
    ]);
    let results = home.post("/publish", batch.to_string()).await.json();
    assert_eq!((&results[0]["offset"], &results[2]["offset"]), (&json!(0), &json!(1)));
    assert_eq!((&results[1]["code"], &results[1]["actual"]), (&json!("conflict"), &json!({"key_offset": 0})));
    let batch = json!([event("a", json!({"offset": 2})), event("b", json!({"key_offset": 7}))]);
    let problem = home.post("/publish?atomic=1", batch.to_string()).await.problem(409, "conflict");
    assert_eq!((&problem["index"], &problem["actual"]), (&json!(1), &json!({"key_offset": 1})));
    assert_eq!(home.get("/replay?topic=accounts").await.json()["count"], 2, "nothing of the atomic batch");
}

#[tokio::test]
async fn versions_are_a_setting_that_is_not_lost_by_leaving_it_out() {
    let home = Home::open().await;
    assert_eq!(home.put("/topics/accounts", json!({"versions": true})).await.json()["versions"], true);
    let problem = home.put("/topics/accounts", json!({"max_attempts": 3})).await.problem(400, "bad_request");
    assert_eq!(problem["field"], "versions");
    home.put("/topics/accounts", json!({"versions": true, "partitions": 2})).await.problem(400, "bad_request");
    home.post("/publish", event("a", json!({"key_offset": null})).to_string()).await.json();
    let latest = home.get("/latest-by-key?topic=accounts&key=a").await.json();
    assert_eq!(latest["offset"], 0);
    home.put("/topics/accounts", json!({"versions": false})).await.json();
    home.post("/publish", event("a", json!({"key_offset": 0})).to_string()).await.problem(400, "bad_request");
}

#[tokio::test]
async fn a_page_of_a_replay_names_what_retention_removed() {
    let home = Home::open().await;
    let retained = TopicSettings::new("a").unwrap().retain_for(std::time::Duration::from_millis(1));
    home.bus.create_topic(retained).await.unwrap();
    home.publish_numbers("a", 4).await;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    home.bus.retain_now().await.unwrap();
    home.bus.publish("a", json!(4)).await.unwrap();
    for query in ["from=offset&offset=1", "next=1"] {
        let page = home.get(&format!("/replay?topic=a&{query}")).await.json();
        assert_eq!((&page["gaps"][0]["from"], &page["gaps"][0]["to"]), (&json!(1), &json!(4)), "{page}");
        assert_eq!((&page["count"], &page["events"][0]["offset"]), (&json!(1), &json!(4)));
    }
    assert_eq!(home.get("/replay?topic=a").await.json()["gaps"], Value::Null, "from the earliest nothing is missing");
    let metrics = home.get("/metrics").await;
    assert!(metrics.text().contains("tail_events_lost_total{topic=\"a\"} 6"), "{}", metrics.text());
}
