//! `/metrics`.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use prom_engine::Position;
use prom_gateway::GatewayOptions;
use prom_store_embedded::EmbeddedStore;

use crate::home::Home;

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
