//! `prom schema prove` and `prom cutover` against a real hub.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::prom::{Ran, prom_in};
use crate::serve::Served;

const V1: &str = r#"{"type":"object","properties":{"pid":{"type":"integer"},"mem_mb":{"type":"number"}}}"#;
const V2: &str = r#"{"type":"object","properties":{"pid":{"type":"integer"},"mem_mib":{"type":"number"}},"required":["pid","mem_mib"]}"#;
const STEP: &str = ".mem_mib = .mem_mb | del(.mem_mb)";

struct Scene {
    folder: tempfile::TempDir,
    hub: Served,
}

impl Scene {
    /// A topic with events of version 1, of which one is odd.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("v1.json", V1), ("v2.json", V2), ("step.jq", STEP)] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let hub = Served::start(folder.path(), &["--store", "memory"], &[]);
        let scene = Self { folder, hub };
        scene.publish(0..200);
        scene.ask(&["pub", "heartbeat", r#"{"pid":"text","mem_mb":1}"#, "--key", "odd"]).exits(0);
        scene
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn ask(&self, arguments: &[&str]) -> Ran {
        prom_in(self.folder(), &[arguments, &["--url", &self.hub.url]].concat(), &[])
    }

    fn publish(&self, numbers: std::ops::Range<u64>) {
        let lines: String = numbers.map(|pid| format!("{{\"pid\":{pid},\"mem_mb\":1}}\n")).collect();
        std::fs::write(self.folder().join("events"), lines).unwrap();
        let events = std::fs::File::open(self.folder().join("events")).unwrap();
        let published = Command::new(env!("CARGO_BIN_EXE_prom"))
            .args(["pub", "heartbeat", "-", "--key", "one", "--url", &self.hub.url])
            .stdin(Stdio::from(events))
            .output()
            .unwrap();
        assert!(published.status.success(), "{}", String::from_utf8_lossy(&published.stderr));
    }
}

#[test]
fn a_schema_is_proven_on_what_is_stored() {
    let scene = Scene::new();
    let ran = scene.ask(&["schema", "prove", "heartbeat", "v1.json"]).exits(1);
    assert!(ran.stdout.starts_with("heartbeat version 1: 201 events looked at, 1 would fail\n"), "{}", ran.stdout);
    for told in ["PARTITION", "200", "/pid", "no group reads heartbeat"] {
        assert!(ran.stdout.contains(told), "{told}: {}", ran.stdout);
    }
    assert!(ran.stderr.contains("1 event would fail under v1.json"), "{}", ran.stderr);
    let ran = scene.ask(&["schema", "prove", "heartbeat", "v2.json", "--json"]).exits(1);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&result["scanned"], &result["failed"]), (&201.into(), &201.into()));
    assert_eq!(result["failures"].as_array().unwrap().len(), 20);
    std::fs::write(scene.folder().join("any.json"), r#"{"type":"object"}"#).unwrap();
    let ran = scene.ask(&["sub", "heartbeat", "--group", "billing", "--from", "earliest", "--count", "1"]).exits(0);
    assert!(ran.stdout.contains("pid"));
    let ran = scene.ask(&["schema", "prove", "heartbeat", "any.json"]).exits(0);
    assert!(ran.stdout.contains("0 would fail") && ran.stdout.contains("groups that read heartbeat: billing"));
    scene.ask(&["schema", "prove", "nothing", "any.json"]).exits(1);
    scene.ask(&["schema", "prove", "heartbeat", "no.json"]).exits(2);
    assert!(scene.ask(&["schema", "ls"]).exits(0).stdout.contains("no schemas yet"), "a proof registered something");
}

#[test]
fn a_topic_is_cut_over_and_the_counts_are_told() {
    let scene = Scene::new();
    let ran = scene.ask(&["cutover", "heartbeat"]).exits(1);
    assert!(ran.stderr.contains("no schema is registered for heartbeat"), "{}", ran.stderr);
    scene.ask(&["schema", "register", "heartbeat", "v1.json"]).exits(0);
    scene.ask(&["schema", "register", "heartbeat", "v2.json", "--compat", "upcast", "--upcast", "step.jq"]).exits(0);
    let ran = scene.ask(&["cutover", "heartbeat"]).exits(1);
    for told in ["offset 200", "/pid", "--skip-unfit"] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    let ran = scene.ask(&["cutover", "heartbeat", "--skip-unfit"]).exits(0);
    assert_eq!(
        ran.stdout,
        "heartbeat is in heartbeat.v2 as version 2: 201 events read = 200 written + 0 already there + 1 skipped\n"
    );
    let ran = scene.ask(&["cutover", "heartbeat", "--skip-unfit"]).exits(0);
    assert!(ran.stdout.contains("201 events read") && ran.stdout.contains("nothing new"), "{}", ran.stdout);
    scene.publish(200..210);
    let ran = scene.ask(&["cutover", "heartbeat", "--skip-unfit", "--json"]).exits(0);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&result["read"], &result["written"], &result["adds_up"]), (&211.into(), &210.into(), &true.into()));
    let events = scene.ask(&["export", "heartbeat.v2"]).exits(0).stdout;
    assert_eq!(
        (events.lines().count(), events.matches("mem_mib").count(), events.matches("mem_mb").count()),
        (210, 210, 0)
    );
    let ran = scene.ask(&["cutover", "heartbeat", "--to-collection", "beats", "--skip-unfit"]).exits(0);
    assert!(
        ran.stdout.contains("is in collection beats as version 2: 211 events read = 210 written"),
        "{}",
        ran.stdout
    );
    let ran = scene.ask(&["cutover", "heartbeat", "--to-snapshot", "--skip-unfit"]).exits(0);
    assert_eq!(
        ran.stdout,
        "heartbeat is in heartbeat.snapshot.v2 as version 2: 2 events read = 1 written + 0 already there + 1 skipped\n"
    );
    let state = scene.ask(&["export", "heartbeat.snapshot.v2"]).exits(0).stdout;
    assert_eq!((state.lines().count(), state.matches("mem_mib").count()), (2, 1), "an event and a marker: {state}");
    for two in [["--to", "a"], ["--to-collection", "b"]] {
        scene.ask(&[&["cutover", "heartbeat", "--to-snapshot"], &two[..]].concat()).exits(2);
    }
    scene.ask(&["cutover", "heartbeat", "--to", "a", "--to-collection", "b"]).exits(2);
    scene.ask(&["cutover", "heartbeat", "--to-collection", "B"]).exits(2);
}
