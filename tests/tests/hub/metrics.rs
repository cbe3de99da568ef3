//! `/metrics`, and the rules over it, as Prometheus' own checker sees them.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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

#[test]
fn a_hub_reports_on_itself_and_is_quiet_when_nothing_happens() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("prom.toml");
    std::fs::write(&config, "[telemetry]\nmetrics_every = \"1s\"\n").unwrap();
    let hub = HubProcess::start(&["--store", "memory", "--config", &config.to_string_lossy()], &[]).unwrap();
    let reports = || {
        let text = get(&format!("{}/replay?topic=system.metrics", hub.url()));
        let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
        answer["events"].as_array().cloned().unwrap_or_default()
    };
    let output = Command::new(prom_binary().unwrap()).args(["pub", "a.b", "1", "--url", &hub.url()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let deadline = Instant::now() + Duration::from_secs(60);
    let told = loop {
        let all = reports();
        if let Some(first) = all.iter().find(|report| report["payload"]["events"]["published"] == 1) {
            break first["payload"].clone();
        }
        assert!(Instant::now() < deadline, "no report tells of the event: {all:?}");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!((&told["dead_letters"], &told["store"]["kind"]), (&0.into(), &"memory".into()), "{told}");
    assert!(told["rates"]["published_per_s"].is_number(), "{told}");
    loop {
        let before = reports().len();
        std::thread::sleep(Duration::from_millis(2500));
        if reports().len() == before {
            break;
        }
        assert!(Instant::now() < deadline, "a hub to which nothing happens goes on reporting");
    }
}

/// What `deploy/` gives to people who watch a hub: its syntax, and which alerts fire when.
#[test]
fn promtool_accepts_the_configuration_the_rules_and_their_tests() {
    if or_skip(tools::require("promtool")).is_none() {
        return;
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/prometheus");
    for arguments in
        [["check", "config", "prometheus.yml"], ["check", "rules", "rules.yml"], ["test", "rules", "rules_test.yml"]]
    {
        let output = Command::new("promtool").args(arguments).current_dir(folder).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "promtool {}: {said}", arguments.join(" "));
    }
}

fn get(url: &str) -> String {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async { reqwest::get(url).await.unwrap().text().await.unwrap() })
}
