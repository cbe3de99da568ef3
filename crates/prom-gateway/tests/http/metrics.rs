//! `/metrics`.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use axum::http::Method;
use prom_engine::Position;
use prom_gateway::GatewayOptions;
use prom_jobs::FlowKind;
use prom_store_embedded::EmbeddedStore;

use crate::flows::in_memory::FlowInMemory;
use crate::home::{Ask, Home};

/// A hub in which everything that is counted has happened.
async fn busy() -> (Home, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path()).await.unwrap();
    let home = Home::over(store, GatewayOptions::default(), Default::default()).await;
    home.publish_numbers("orders.placed", 4).await;
    let subscribe = home.bus.subscribe("orders.placed", "billing").from(Position::Earliest);
    let quick = subscribe.max_attempts(1).backoff(Duration::from_millis(1), Duration::from_millis(1));
    let mut events = quick.start().await.unwrap();
    events.next().await.unwrap().ack().await.unwrap();
    events.next().await.unwrap().nack("no").await.unwrap();
    let _held = events.next().await.unwrap();
    home.flows.add(FlowInMemory::new(FlowKind::Outbox, "orders").busy().shared());
    let text = home.get("/metrics").await;
    assert_eq!(text.status, 200);
    events.unsubscribe().await;
    (home, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_name_is_there_with_its_labels() {
    let (home, _folder) = busy().await;
    let answer = home.get("/metrics").await;
    assert_eq!(answer.content_type(), "text/plain; version=0.0.4");
    let text = answer.text();
    let both = r#"{topic="orders.placed",group="billing"}"#;
    for line in [
        r#"events_published_total{topic="orders.placed"} 4"#.to_owned(),
        format!("events_acked_total{both} 1"),
        format!("events_nacked_total{both} 1"),
        "ws_connections 0".to_owned(),
        "store_damaged_places 0".to_owned(),
        "store_cut_frames 0".to_owned(),
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    for name in [
        "events_delivered_total",
        "events_redelivered_total",
        "events_dead_lettered_total",
        "events_inflight",
        "consumer_lag_events",
        "ws_inflight",
        "subscribe_poll_duration_ms_count",
        "delivery_handler_duration_ms_sum",
        "delivery_latency_ms_count",
    ] {
        assert!(text.contains(&format!("\n{name}{both} ")), "{name} is not in\n{text}");
    }
    for name in
        ["store_fsync_duration_ms_bucket{le=\"+Inf\"}", "process_resident_memory_bytes", "process_cpu_seconds_total"]
    {
        assert!(text.contains(&format!("\n{name} ")), "{name} is not in\n{text}");
    }
    let help = text.lines().filter(|line| line.starts_with("# HELP")).count();
    assert_eq!(help, text.lines().filter(|line| line.starts_with("# TYPE")).count());
}

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_itself_accepts_the_text() {
    let Ok(mut promtool) = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
    else {
        // Without the tool the names above are what is checked.
        return;
    };
    let (home, _folder) = busy().await;
    let text = home.get("/metrics").await;
    promtool.stdin.take().unwrap().write_all(&text.body).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    // The names with `_ms` are fixed; it would rather have seconds.
    let complaints: Vec<&str> = told.lines().filter(|line| !line.contains("_ms ")).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[tokio::test]
async fn topics_and_groups_that_the_token_may_not_see_are_not_named() {
    let home = Home::protected().await;
    home.publish_numbers("orders", 1).await;
    for group in ["billing", "secret"] {
        home.bus.subscribe("orders", group).from(Position::Earliest).start().await.unwrap().unsubscribe().await;
    }
    home.bus.set_cursor("orders", 0, "billing", Position::Latest).await.unwrap();
    let metrics = async |policy: serde_json::Value| {
        let token = crate::home::token_with_policy(policy);
        let ask = Ask::new(Method::GET, "/metrics").header("authorization", &format!("Bearer {token}"));
        let answer = ask.send(&home).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.text().to_owned()
    };
    let all = serde_json::json!({"effect": "allow", "action": "ops", "topics": ["**"]});
    let text = metrics(serde_json::json!([all])).await;
    assert!(text.contains("topic=\"orders\"") && text.contains("group=\"secret\""), "{text}");
    assert!(!text.contains("system.audit"), "{text}");
    let not_this = serde_json::json!({"effect": "deny", "action": "ops", "topics": ["orders"], "groups": ["secret"]});
    let text = metrics(serde_json::json!([all, not_this])).await;
    assert!(text.contains("group=\"billing\"") && !text.contains("secret"), "{text}");
    let named = serde_json::json!({"effect": "allow", "action": "ops", "topics": ["system.audit"]});
    assert!(metrics(serde_json::json!([all, named])).await.contains("topic=\"system.audit\""));
}

#[tokio::test]
async fn metrics_stay_bounded_and_say_what_they_leave_out() {
    let store = std::sync::Arc::new(prom_store::MemoryStore::new(std::sync::Arc::new(prom_store::SystemClock::new())));
    let options = GatewayOptions { metric_series: 3, ..GatewayOptions::default() };
    let home = Home::over(store, options, Default::default()).await;
    for (topic, events) in [("a.one", 1), ("a.two", 2), ("a.three", 3), ("a.four", 4)] {
        home.publish_numbers(topic, events).await;
    }
    for group in ["g", "h"] {
        drop(home.bus.subscribe("a.*", group).from(Position::Earliest).start().await.unwrap());
    }
    let answer = home.get("/metrics").await;
    let lines: Vec<&str> = answer.text().lines().collect();
    let of = |name: &str| lines.iter().filter(|line| line.starts_with(name)).count();
    assert_eq!((of("events_published_total{"), of("consumer_lag_events{")), (3, 3), "{}", answer.text());
    assert!(lines.contains(&r#"consumer_lag_events{topic="a.four",group="g"} 4"#), "{}", answer.text());
    assert!(lines.contains(&r#"metrics_omitted{what="lags"} 5"#), "{}", answer.text());
    assert!(lines.contains(&r#"metrics_omitted{what="topics"} 1"#), "{}", answer.text());
}

#[test]
fn alerts_and_the_dashboard_for_grafana_ask_for_metrics_that_there_are() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = |file| std::fs::read_to_string(root.join("crates/prom-gateway/src/metrics").join(file)).unwrap();
    let known = source("exposition.rs") + &source("flows.rs");
    let mut found = 0;
    for file in ["deploy/prometheus/rules.yml", "deploy/grafana/promethean.json"] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let is_part = |character: char| character.is_ascii_lowercase() || character == '_';
        let words = text.split(|character| !is_part(character));
        let kinds = ["events_", "consumer_", "delivery_", "store_", "ws_", "flow_", "task_failures", "subscribe_poll"];
        for word in words.filter(|word| kinds.iter().any(|kind| word.starts_with(kind))) {
            let name = ["_bucket", "_sum", "_count"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
            assert!(known.contains(&format!("\"{name}\"")), "{file} asks for {name}, which the hub does not have");
            found += 1;
        }
    }
    assert!(found > 20, "{found}");
}
