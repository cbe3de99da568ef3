//! `/at`, `/diff` and snapshots: the past of a topic, exactly or not at all, for those who may read it.

use axum::http::Method;
use prom_engine::TopicSettings;
use serde_json::{Value, json};

use crate::home::{Ask, Home};

const FAR: i64 = 4_102_444_800_000;

async fn published() -> Home {
    let home = Home::ticking_by(10).await;
    for (key, payload) in [("a", json!(1)), ("b", json!(1)), ("a", json!(2)), ("b", Value::Null), ("c", json!(1.50))] {
        home.bus.publish("state", payload).key(key).await.unwrap();
    }
    home
}

async fn events(home: &Home) -> Vec<Value> {
    home.get("/replay?topic=state").await.json()["events"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_key_is_answered_with_its_newest_event_of_that_time_or_null() {
    let home = published().await;
    let events = events(&home).await;
    let ts = |at: usize| events[at]["stored_ts"].as_i64().unwrap();
    let at = async |key: &str, ts: i64| home.get(&format!("/at?topic=state&key={key}&ts={ts}")).await.json();
    assert_eq!(at("a", ts(0)).await, events[0]);
    assert_eq!(at("a", ts(0) - 1).await, Value::Null);
    assert_eq!(at("a", ts(2) - 1).await, events[0]);
    assert_eq!(at("a", FAR).await, events[2]);
    assert_eq!((at("b", ts(2)).await, at("b", ts(3)).await), (events[1].clone(), Value::Null));
    assert_eq!(at("never", FAR).await, Value::Null);
}

#[tokio::test]
async fn all_live_keys_come_page_by_page_with_and_without_a_snapshot() {
    let home = published().await;
    let events = events(&home).await;
    for _ in 0..2 {
        let mut found = Vec::new();
        let mut next = String::new();
        loop {
            let page = home.get(&format!("/at?topic=state&ts={FAR}&limit=1{next}")).await.json();
            found.extend(page["items"].as_array().unwrap().clone());
            let Some(more) = page["next"].as_str() else { break };
            next = format!("&next={more}");
        }
        assert_eq!(found, [events[2].clone(), events[4].clone()]);
        let lines = home.post("/topics/state/snapshot", "").await.lines();
        assert_eq!(lines.last().unwrap()["done"]["count"], 2, "{lines:?}");
    }
    let list = home.get("/topics/state/snapshots").await.json();
    let newest = list["snapshots"].as_array().unwrap().last().unwrap().clone();
    let next = newest["snapshot_next"].as_str().unwrap();
    let cold = home.get(&format!("/replay?topic=state.snapshot&next={next}")).await.json();
    let payloads: Vec<&Value> = cold["events"].as_array().unwrap().iter().map(|event| &event["payload"]).collect();
    assert_eq!(payloads[..2], [&events[2], &events[4]]);
    assert_eq!((&payloads[2]["snapshot"], &payloads[2]["count"]), (&newest["id"], &json!(2)));
    assert_eq!(newest["events_next"], "5");
}

#[tokio::test]
async fn a_difference_tells_what_was_made_changed_and_deleted() {
    let home = published().await;
    let events = events(&home).await;
    let ts = |at: usize| events[at]["stored_ts"].as_i64().unwrap();
    let diff = home.get(&format!("/diff?topic=state&from={}&to={FAR}", ts(1))).await.json();
    let expected = json!({"items": [
        {"key": "a", "change": "changed", "before": events[0], "after": events[2]},
        {"key": "b", "change": "deleted", "before": events[1], "after": null},
        {"key": "c", "change": "made", "before": null, "after": events[4]},
    ], "next": null});
    assert_eq!(diff, expected);
    let nothing = home.get(&format!("/diff?topic=state&from={}&to={}", ts(1), ts(1))).await.json();
    assert_eq!(nothing, json!({"items": [], "next": null}));
    home.get("/diff?topic=state&from=2&to=1").await.problem(400, "bad_request");
}

#[tokio::test]
async fn a_time_whose_events_are_gone_is_refused_with_the_earliest_that_has_an_answer() {
    let home = published().await;
    let events = events(&home).await;
    home.post("/topics/state/snapshot", "").await.lines();
    home.bus.publish("state", json!(3)).key("a").await.unwrap();
    let settings = TopicSettings::new("state").unwrap().retain_bytes(1);
    home.bus.create_topic(settings).await.unwrap();
    home.bus.retain_now().await.unwrap();
    let last = events[4]["stored_ts"].as_i64().unwrap();
    let gone = home.get(&format!("/at?topic=state&ts={}", last - 1)).await.problem(410, "history_gone");
    let earliest = gone["earliest_ts"].as_i64();
    let start = home.bus.bounds("state").await.unwrap()[0].start;
    match (start, earliest) {
        (5, Some(earliest)) => {
            let page = home.get(&format!("/at?topic=state&ts={earliest}")).await.json();
            assert!(page["items"].is_array(), "{page}");
        }
        (6, None) => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn only_those_who_may_read_the_topic_learn_of_its_past() {
    let home = Home::protected().await;
    home.bus.publish("state", json!(1)).key("a").await.unwrap();
    for path in ["/at?topic=state&ts=1", "/diff?topic=state&from=1&to=2", "/topics/state/snapshots"] {
        home.get(path).await.problem(401, "no_token");
        Ask::new(Method::GET, path).token(&["subscribe:other"]).send(&home).await.problem(403, "forbidden");
        let allowed = Ask::new(Method::GET, path).token(&["subscribe:state"]).send(&home).await;
        assert_eq!(allowed.status.as_u16(), 200, "{path}");
    }
    let take = |scope: &'static str| Ask::new(Method::POST, "/topics/state/snapshot").token(&[scope]).send(&home);
    take("subscribe:**").await.problem(403, "forbidden");
    take("admin:state").await.problem(403, "forbidden");
    let taken = take("admin:state.**").await.lines();
    assert_eq!(taken.last().unwrap()["done"]["count"], 1, "{taken:?}");
    home.get("/at?topic=nowhere&ts=1").await.problem(401, "no_token");
    let unknown = Ask::new(Method::GET, "/at?topic=nowhere&ts=1").token(&["subscribe:**"]).send(&home).await;
    unknown.problem(404, "unknown_topic");
    let bad = Ask::new(Method::GET, "/at?topic=state&ts=1&next=%21").token(&["subscribe:**"]).send(&home).await;
    bad.problem(400, "bad_request");
}
