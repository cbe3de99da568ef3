//! `/partitions`, `/why` and the metrics of owners.

use prom_engine::{Mode, Position, TopicSettings};
use serde_json::{Value, json};

use crate::home::Home;

#[tokio::test]
async fn owners_epochs_and_members_are_shown() {
    let home = Home::open().await;
    home.bus.create_topic(TopicSettings::new("orders").unwrap().partitions(3).key(".payload.id")).await.unwrap();
    let subscribe = home.bus.subscribe("orders", "g").mode(Mode::Partitioned).from(Position::Earliest);
    let _anna = subscribe.member_id("alpha").meta(&json!({"host": "a1"})).pin([1]).start().await.unwrap();
    let told = loop {
        let told = home.get("/partitions?topic=orders&group=g").await.json();
        let owned = |one: &Value| one["owner"] == "alpha";
        if told["partitions"].as_array().unwrap().iter().all(owned) && told["generation"].is_u64() {
            break told;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    assert_eq!((&told["mode"], &told["virtual"]), (&json!("partitioned"), &json!(false)));
    let member = json!({
        "member": "alpha", "weight": 1, "pins": [1], "ttl_ms": null, "meta": {"host": "a1"}, "partitions": [0, 1, 2],
    });
    assert_eq!(told["members"], json!([member]));
    assert!(told["partitions"][2]["epoch"].as_u64().unwrap() > 0, "{told}");
    home.bus.publish("orders", json!({"id": "k"})).await.unwrap();
    let why = home.get("/why?topic=orders&group=g").await.json();
    let explained = why["partitions"]
        .as_array()
        .unwrap()
        .iter()
        .any(|one| one["explanation"].as_str().unwrap().contains("belongs to alpha"));
    assert!(explained, "{why}");
    let metrics = home.get("/metrics").await.text().to_owned();
    for line in [
        r#"partition_owned{topic="orders",group="g",member="alpha"} 3"#,
        r#"partition_moves_total{topic="orders",group="g"} 3"#,
        r#"partition_epoch{topic="orders",group="g",partition="2"}"#,
        r#"group_generation{topic="orders",group="g"}"#,
        r#"rebalance_duration_ms_count{topic="orders",group="g"} 3"#,
    ] {
        assert!(metrics.contains(line), "{line} is missing in\n{metrics}");
    }
}

#[tokio::test]
async fn virtual_partitions_are_shown_without_offsets_of_their_own() {
    let home = Home::open().await;
    home.publish_numbers("orders", 3).await;
    let subscribe = home.bus.subscribe("orders", "g").partitions(2).from(Position::Earliest);
    let _anna = subscribe.member_id("alpha").start().await.unwrap();
    let told = loop {
        let told = home.get("/partitions?topic=orders&group=g").await.json();
        if told["partitions"].as_array().unwrap().len() == 2 && told["partitions"][1]["owner"] == "alpha" {
            break told;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    assert_eq!((&told["virtual"], &told["partitions"][0]["floor"]), (&json!(true), &Value::Null));
    let group = home.get("/groups/g").await.json();
    let options = &group["subscriptions"][0]["options"];
    assert_eq!((&options["mode"], &options["partitions"]), (&json!("partitioned"), &json!(2)));
}
