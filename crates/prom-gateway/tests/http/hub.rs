//! `/stats`, `/healthz`, `/readyz`, and what is not there.

use axum::http::Method;
use prom_engine::Position;
use serde_json::{Value, json};

use crate::home::{Ask, Home, until};

#[tokio::test]
async fn stats_count_and_measure() {
    let home = Home::open().await;
    home.publish_numbers("a", 3).await;
    let mut events = home.bus.subscribe("a", "g").from(Position::Earliest).start().await.unwrap();
    events.next().await.unwrap().ack().await.unwrap();
    let stats = home.get("/stats").await.json();
    assert_eq!(stats["version"], env!("CARGO_PKG_VERSION"));
    let store = &stats["store"];
    assert_eq!((&store["kind"], &store["durability"]), (&json!("memory"), &json!("memory")));
    assert!(store["bytes"].as_u64().unwrap() > 0);
    assert_eq!((&stats["lag_events"], &stats["dead_letters"]), (&json!(2), &json!(0)));
    assert_eq!((&stats["topics"], &stats["groups"], &stats["ws_connections"]), (&json!(1), &json!(1), &json!(0)));
    assert_eq!((&stats["events"]["published"], &stats["events"]["acked"]), (&json!(3), &json!(1)));
    assert_eq!(stats["rates"], Value::Null);
    assert!(stats["uptime_s"].is_u64());
    assert!(stats["rss_bytes"].as_u64().is_none_or(|bytes| bytes > 1_000_000));
    home.publish_numbers("a", 30).await;
    let rate = async || home.get("/stats").await.json()["rates"]["published_per_s"].as_f64();
    until("a rate", || async { rate().await.is_some_and(|rate| rate > 0.0) }).await;
}

#[tokio::test]
async fn a_hub_that_is_shut_down_is_alive_but_not_ready() {
    let home = Home::open().await;
    assert_eq!(home.get("/healthz").await.json(), json!({"status": "ok"}));
    assert_eq!(home.get("/readyz").await.json(), json!({"status": "ok"}));
    home.bus.shutdown().await.unwrap();
    assert_eq!(home.get("/healthz").await.json(), json!({"status": "ok"}));
    let problem = home.get("/readyz").await.problem(503, "overloaded");
    assert!(problem["detail"].as_str().unwrap().contains("not ready"), "{problem}");
    home.post("/publish", r#"{"topic":"a","payload":1}"#).await.problem(503, "overloaded");
}

#[tokio::test]
async fn a_hub_that_waits_for_its_last_handlers_is_not_ready() {
    let home = Home::open().await;
    home.publish_numbers("a", 1).await;
    let mut events = home.bus.subscribe("a", "g").from(Position::Earliest).start().await.unwrap();
    let held = events.next().await.unwrap();
    let bus = home.bus.clone();
    let ending = tokio::spawn(async move { bus.shutdown().await });
    let publish = || home.post("/publish", r#"{"topic":"a","payload":1}"#);
    until("publishing is refused", || async { publish().await.status == 503 }).await;
    assert!(!ending.is_finished());
    home.get("/readyz").await.problem(503, "overloaded");
    held.ack().await.unwrap();
    ending.await.unwrap().unwrap();
}

#[tokio::test]
async fn unknown_paths_and_wrong_methods_are_problems_too() {
    let home = Home::open().await;
    for path in ["/nothing", "/topics/a/b", "/topics/", "//", "/publish/x"] {
        home.get(path).await.problem(404, "bad_request");
    }
    let refused = home.get("/publish").await;
    refused.problem(405, "bad_request");
    assert_eq!(refused.headers["allow"], "POST");
    Ask::new(Method::PATCH, "/topics/a").send(&home).await.problem(405, "bad_request");
}

#[tokio::test]
async fn a_task_that_panicked_is_counted_and_its_kind_is_told_without_names() {
    let home = Home::open().await;
    let failures = home.bus.task_failures().clone();
    let task = prom_engine::TaskName::one("dispatcher", "secret.topic");
    failures.watch(&task, async { panic!("a defect") }).await.unwrap_err();
    let ready = home.get("/readyz").await;
    assert_eq!(ready.json(), json!({"status": "ok", "failing": {"dispatcher": 1}}));
    let metrics = home.get("/metrics").await.text().to_owned();
    assert!(metrics.contains(r#"task_failures_total{task="dispatcher"} 1"#), "{metrics}");
}

/// A pass that fails.
struct Failing;

impl prom_jobs::KeptWork for Failing {
    async fn pass(&mut self, bus: &prom_engine::Bus) -> Result<(), prom_jobs::JobError> {
        bus.bounds("secret.topic").await?;
        Ok(())
    }
}

#[tokio::test]
async fn background_work_that_fails_is_counted_for_all_and_explained_to_those_who_may_ask() {
    let home = Home::protected().await;
    let keeper = home.keeper.clone();
    let task = prom_engine::TaskName::one("snapshots", "secret.topic");
    keeper.keep(task.clone(), std::time::Duration::from_secs(3600), Failing).wake();
    until("the pass has failed", || async { keeper.states()[&task].failed.is_some() }).await;
    let ready = home.get("/readyz").await;
    assert_eq!(ready.json(), json!({"status": "ok", "failing": {"snapshots": 1}}));
    home.get("/stats").await.problem(401, "no_token");
    let stats = Ask::new(Method::GET, "/stats").token(&["ops"]).send(&home).await;
    let background = stats.json()["background"][0].clone();
    assert_eq!(
        (background["work"].as_str(), background["elsewhere"].as_bool()),
        (Some("snapshots secret.topic"), Some(false))
    );
    assert!(background["failed"].as_str().unwrap().contains("secret.topic"), "{background}");
}
