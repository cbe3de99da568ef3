//! `/metrics` as Prometheus' own checker sees it.

use std::io::Write as _;
use std::process::{Command, Stdio};

use prom_testkit::{HubProcess, prom_binary, tools};

use super::or_skip;

#[test]
fn promtool_accepts_the_metrics_and_dislikes_only_the_fixed_names_in_milliseconds() {
    if or_skip(tools::require("promtool")).is_none() {
        return;
    }
    let hub = HubProcess::in_memory().unwrap();
    let prom = |arguments: &[&str]| {
        let output = Command::new(prom_binary().unwrap()).args(arguments).args(["--url", &hub.url()]).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    prom(&["pub", "a.b", "1"]);
    prom(&["sub", "a.b", "--group", "g", "--from", "earliest", "--count", "1"]);
    let metrics = get(&format!("{}/metrics", hub.url()));
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_ne!(output.status.code(), Some(1), "{said}");
    let other = said.lines().filter(|line| !line.contains("_ms ")).collect::<Vec<_>>();
    assert!(other.is_empty(), "{other:#?}");
    for name in ["events_published_total{", "events_acked_total{", "delivery_latency_ms_bucket{", "ws_connections "] {
        assert!(metrics.contains(name), "{name} is missing in\n{metrics}");
    }
}

fn get(url: &str) -> String {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async { reqwest::get(url).await.unwrap().text().await.unwrap() })
}
