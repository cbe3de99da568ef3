//! `/lag`, `/why` and `/partitions`.

use prom_engine::{Position, TopicSettings};
use serde_json::{Value, json};

use crate::home::Home;

async fn with_lag() -> Home {
    let home = Home::open().await;
    home.bus.create_topic(TopicSettings::new("a.x").unwrap().partitions(2)).await.unwrap();
    for n in 0..6 {
        home.bus.publish("a.x", json!(n)).partition(n % 2).await.unwrap();
    }
    home.publish_numbers("b", 1).await;
    let mut events = home.bus.subscribe("a.*", "g").from(Position::Earliest).start().await.unwrap();
    for _ in 0..2 {
        events.next().await.unwrap().ack().await.unwrap();
    }
    events.unsubscribe().await;
    home.bus.subscribe("**", "all").from(Position::Earliest).start().await.unwrap().unsubscribe().await;
    home
}

fn names(lags: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    lags["lags"].as_array().unwrap().iter().map(|lag| (text(&lag["topic"]), text(&lag["group"]))).collect()
}

#[tokio::test]
async fn the_lag_of_one_group_in_one_topic() {
    let home = with_lag().await;
    let lag = home.get("/lag?topic=a.x&group=g").await.json();
    assert_eq!((&lag["topic"], &lag["group"], &lag["inFlight"]), (&json!("a.x"), &json!("g"), &json!(0)));
    assert_eq!((&lag["lagEvents"], &lag["tail"], &lag["lastCursor"]), (&json!(4), &json!(6), &json!(2)));
    assert!(lag["lagMs"].is_u64());
    let partitions = lag["partitions"].as_array().unwrap();
    assert_eq!(partitions.len(), 2);
    for partition in partitions {
        for name in ["partition", "floor", "next", "lagEvents", "lagMs", "inFlight"] {
            assert!(partition[name].is_u64(), "{name} of {partition}");
        }
    }
}

#[tokio::test]
async fn the_lags_of_a_topic_of_a_group_and_of_all() {
    let home = with_lag().await;
    let pair = |topic: &str, group: &str| (topic.to_owned(), group.to_owned());
    assert_eq!(names(&home.get("/lag?topic=a.x").await.json()), [pair("a.x", "all"), pair("a.x", "g")]);
    assert_eq!(names(&home.get("/lag?group=all").await.json()), [pair("a.x", "all"), pair("b", "all")]);
    assert_eq!(names(&home.get("/lag?topic=&group=").await.json()).len(), 3);
    home.get("/lag?topic=nope").await.problem(404, "unknown_topic");
    home.get("/lag?group=nope").await.problem(404, "unknown_topic");
    home.get("/lag?topic=b&group=g").await.problem(404, "unknown_topic");
    home.get("/lag?topic=B").await.problem(400, "bad_request");
}

#[tokio::test]
async fn why_names_what_holds_a_group_back() {
    let home = with_lag().await;
    let idle = home.get("/why?topic=b&group=all").await.json();
    let partition = &idle["partitions"][0];
    assert!(partition["explanation"].as_str().unwrap().contains("no subscriber"), "{partition}");
    assert_eq!((&partition["status"], &partition["lag_events"]), (&Value::Null, &json!(1)));
    assert!(partition["event"].is_string());

    let mut events = home.bus.subscribe("**", "all").member_id("worker 7").start().await.unwrap();
    let mut held = Vec::new();
    for _ in 0..7 {
        held.push(events.next().await.unwrap());
    }
    let busy = home.get("/why?topic=b&group=all").await.json();
    let partition = &busy["partitions"][0];
    assert!(partition["explanation"].as_str().unwrap().contains("worker 7"), "{partition}");
    assert_eq!(
        (&partition["status"]["in_flight"], &partition["status"]["oldest"]["state"]),
        (&json!(1), &json!("leased"))
    );
    for missing in ["/why", "/why?topic=b", "/why?group=all"] {
        home.get(missing).await.problem(400, "bad_request");
    }
}

#[tokio::test]
async fn partitions_tell_who_takes_from_them() {
    let home = with_lag().await;
    let _events = home.bus.subscribe("a.*", "g").start().await.unwrap();
    let list = home.get("/partitions?topic=a.x&group=g").await.json();
    assert_eq!((&list["mode"], &list["generation"]), (&json!("shared"), &Value::Null));
    for (at, partition) in list["partitions"].as_array().unwrap().iter().enumerate() {
        assert_eq!(partition["partition"], at);
        assert_eq!((&partition["owner"], &partition["subscribers"]), (&Value::Null, &json!(1)));
        assert!(partition["epoch"].as_u64().unwrap() > 0, "{partition}");
    }
    home.get("/partitions?topic=a.x").await.problem(400, "bad_request");
    home.get("/partitions?topic=a.x&group=nope").await.problem(404, "unknown_topic");
}

#[tokio::test]
async fn an_answer_has_the_lags_that_are_furthest_behind_and_says_how_many_more_there_are() {
    let home = Home::open().await;
    for n in 0..1002 {
        home.publish_numbers(&format!("a.t{n}"), 1).await;
    }
    drop(home.bus.subscribe("a.**", "g").start().await.unwrap());
    home.publish_numbers("a.t7", 3).await;
    home.publish_numbers("a.t1001", 1).await;
    let lags = home.get("/lag").await.json();
    assert_eq!((names(&lags).len(), &lags["omitted"]), (1000, &json!(2)));
    let behind: Vec<_> = lags["lags"].as_array().unwrap().iter().filter(|lag| lag["lagEvents"] != 0).collect();
    assert_eq!(behind.iter().map(|lag| &lag["topic"]).collect::<Vec<_>>(), ["a.t1001", "a.t7"]);
    assert_eq!(home.get("/lag?topic=a.t7").await.json().get("omitted"), None);
}
