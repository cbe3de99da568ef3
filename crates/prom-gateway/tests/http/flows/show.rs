//! How flows are doing: in answers, in health, in metrics.

use prom_jobs::{FlowKind, FlowState};
use serde_json::json;

use super::in_memory::FlowInMemory;
use super::with_flows;
use crate::home::{Ask, Home};

#[tokio::test]
async fn flows_come_by_kind_and_name() {
    let home = with_flows(Home::open().await).await;
    let names = async |path: &str| -> Vec<String> {
        let list = home.get(path).await.json();
        list["flows"].as_array().unwrap().iter().map(|flow| flow["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("/flows").await, ["orders", "customers", "processes"]);
    assert_eq!(names("/flows?kind=feed").await, ["customers"]);
    assert!(Home::open().await.get("/flows").await.json()["flows"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn a_flow_tells_where_it_stands_and_what_is_wrong() {
    let home = Home::open().await;
    let feed =
        FlowInMemory::new(FlowKind::Feed, "orders").busy().failing(FlowState::Retrying, "no primary; look at it");
    home.flows.add(feed.shared());
    let shown = home.get("/flows/feed/orders").await.json();
    let expected = json!({
        "kind": "feed",
        "name": "orders",
        "state": "retrying",
        "from": "mongo shop.orders",
        "to": "topic orders.changed",
        "error": {"reason": "no primary; look at it", "since_ts": 1_000, "tries": 3, "retry_ts": 9_000},
        "pending": 7,
        "oldest_ts": 0,
        "counts": {"read": 10, "written": 8, "skipped": 1, "failed": 1},
        "stages": [
            {"name": "commit_to_publish", "last_ms": 4, "p50_ms": 3, "p99_ms": 12},
            {"name": "publish_to_document", "last_ms": 4, "p50_ms": 5, "p99_ms": 40},
        ],
        "position": "8265E6F2",
        "details": {"collection": "orders"},
    });
    assert_eq!(shown, expected);
    assert_eq!(home.get("/flows").await.json()["flows"], json!([expected]));
}

#[tokio::test]
async fn rows_are_chosen_by_status_key_topic_and_id() {
    let home = with_flows(Home::open().await).await;
    let ids = async |query: &str| -> Vec<String> {
        let list = home.get(&format!("/flows/outbox/orders/rows{query}")).await.json();
        list["rows"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("").await, ["a", "b", "c"]);
    assert_eq!(ids("?status=error").await, ["a", "c"]);
    assert_eq!(ids("?status=error&key=k2").await, ["c"]);
    assert_eq!(ids("?id=b").await, ["b"]);
    assert_eq!(ids("?topic=Not%20A%20Topic").await, [""; 0]);
    assert_eq!(ids("?limit=2").await, ["a", "b"]);
    let row = home.get("/flows/outbox/orders/rows?id=a").await.json()["rows"][0].clone();
    let expected = json!({
        "id": "a", "topic": "orders.placed", "key": "k1", "status": "error", "ts": 1_000, "attempts": 10,
        "last_err": "the payload does not fit",
    });
    assert_eq!(row, expected);
}

#[tokio::test]
async fn a_hub_with_a_stopped_feed_is_ready_and_says_so() {
    let home = Home::protected().await;
    let add =
        |kind, name, state| home.flows.add(FlowInMemory::new(kind, name).failing(state, "secret reason").shared());
    add(FlowKind::Feed, "secret-one", FlowState::Stopped);
    add(FlowKind::Feed, "secret-two", FlowState::Retrying);
    home.flows.add(FlowInMemory::new(FlowKind::Outbox, "well").shared());
    let ready = home.get("/readyz").await;
    assert_eq!(ready.json(), json!({"status": "ok", "failing": {"feed": 2}}));
    let stats = Ask::new(axum::http::Method::GET, "/stats").token(&["ops"]).send(&home).await.json();
    let works = stats["background"].as_array().unwrap();
    let work = |name: &str| works.iter().find(|work| work["work"] == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(work("outbox well")["failures"], 0);
    let stopped = work("feed secret-one");
    assert_eq!((&stopped["failed"], &stopped["failures"]), (&json!("secret reason"), &json!(3)));
}

#[tokio::test]
async fn every_flow_is_in_the_metrics() {
    let home = Home::open().await;
    assert!(!home.get("/metrics").await.text().contains("flow_"), "a hub without flows has metrics of them");
    home.flows.add(FlowInMemory::new(FlowKind::Outbox, "orders").busy().shared());
    home.flows.add(FlowInMemory::new(FlowKind::Feed, "old").failing(FlowState::Stopped, "no oplog").shared());
    let answer = home.get("/metrics").await;
    let text = answer.text();
    for line in [
        r#"flow_up{kind="outbox",name="orders"} 1"#,
        r#"flow_up{kind="feed",name="old"} 0"#,
        r#"flow_state{kind="outbox",name="orders",state="running"} 1"#,
        r#"flow_state{kind="feed",name="old",state="stopped"} 1"#,
        r#"flow_pending{kind="outbox",name="orders"} 7"#,
        r#"flow_read_total{kind="outbox",name="orders"} 10"#,
        r#"flow_written_total{kind="outbox",name="orders"} 8"#,
        r#"flow_skipped_total{kind="outbox",name="orders"} 1"#,
        r#"flow_failed_total{kind="outbox",name="orders"} 1"#,
        r#"flow_stage_ms{kind="outbox",name="orders",stage="commit_to_publish",quantile="0.5"} 3"#,
        r#"flow_stage_ms{kind="outbox",name="orders",stage="publish_to_document",quantile="0.99"} 40"#,
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    let age =
        text.lines().find_map(|line| line.strip_prefix(r#"flow_oldest_age_seconds{kind="outbox",name="orders"} "#));
    assert!(age.unwrap().parse::<f64>().unwrap() > 1e9, "{age:?}");
    assert!(!text.contains(r#"flow_pending{kind="feed""#), "what is not known is not told");
}
