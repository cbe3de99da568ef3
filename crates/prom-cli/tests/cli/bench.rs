//! `prom bench` against a real hub: everything is accounted for, and nothing stays that was not asked to.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::prom::{Ran, prom};
use crate::serve::Served;

const DEADLINE: Duration = Duration::from_secs(60);
/// Long enough for a token's secret.
const SECRET: &str = "a secret that only this test knows and that is long enough";

struct Hub {
    served: Served,
    _folder: tempfile::TempDir,
}

impl Hub {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { served: Served::start(folder.path(), &["--store", "memory"], variables), _folder: folder }
    }

    fn prom(&self, arguments: &[&str]) -> Ran {
        prom(&[arguments, &["--url", &self.served.url]].concat())
    }

    fn ask(&self, arguments: &[&str]) -> Value {
        let ran = self.prom(&[arguments, &["--json"]].concat()).exits(0);
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// A run without a warm-up; the report it prints.
    fn bench(&self, arguments: &[&str]) -> Value {
        let ran = self.prom(&[&["bench"], arguments, &["--warm-up", "0s", "--json"]].concat()).exits(0);
        assert_eq!(ran.stderr, "", "nothing for people where machines read");
        serde_json::from_str(&ran.stdout).unwrap()
    }

    fn spawn(&self, arguments: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_prom"))
            .arg("bench")
            .args(arguments)
            .args(["--warm-up", "0s", "--json", "--url", &self.served.url])
            .env_clear()
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Without the hub's own: its audit trail says who deleted the groups of a run.
    fn topics(&self) -> Vec<Value> {
        let mut topics = self.ask(&["topics"])["topics"].as_array().unwrap().clone();
        topics.retain(|topic| !topic["topic"].as_str().unwrap().starts_with("system."));
        topics
    }

    fn groups(&self) -> Vec<String> {
        let groups = self.ask(&["groups"]);
        groups["groups"].as_array().unwrap().iter().map(|group| group["group"].as_str().unwrap().to_owned()).collect()
    }

    /// Events of all topics together.
    fn events(&self) -> u64 {
        self.topics().iter().map(|topic| topic["events"].as_u64().unwrap()).sum()
    }

    #[track_caller]
    fn is_clean(&self) {
        assert_eq!(self.groups(), [""; 0]);
        assert!(self.topics().is_empty(), "{:?}", self.topics());
    }
}

#[test]
fn publish_tells_how_many_were_stored_and_how_durably() {
    let hub = Hub::start();
    let report = hub.bench(&[
        "publish",
        "--events",
        "5001",
        "--connections",
        "3",
        "--in-flight",
        "200",
        "--topics",
        "4",
        "--keep",
    ]);
    assert_eq!((&report["shape"], &report["interrupted"]), (&json!("publish"), &json!(false)));
    assert_eq!(report["hub"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&report["hub"]["url"], &report["hub"]["store"]), (&json!(hub.served.url), &json!("memory")));
    assert!(report["client"]["processors"].as_u64().unwrap() >= 1);
    let published = &report["published"];
    assert_eq!((&published["events"], &published["failed"]), (&json!(5001), &json!(0)));
    assert_eq!(published["durability"], json!({"memory": 5001}));
    assert!(published["per_s"].as_f64().unwrap() > 0.0 && published["elapsed_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(report["consumed"], Value::Null);
    assert_eq!(report["latency_us"]["receipt"]["count"], 5001);
    assert_eq!(report["rate_over_time"].as_array().unwrap().last().unwrap()["published"], 5001);
    assert_eq!(report["errors"], json!([]));
    assert_eq!((hub.events(), hub.topics().len()), (5001, 4));
}

#[test]
fn batches_are_published_whole() {
    let hub = Hub::start();
    let report = hub.bench(&[
        "publish",
        "--events",
        "1005",
        "--connections",
        "1",
        "--in-flight",
        "5",
        "--batch",
        "100",
        "--keep",
    ]);
    assert_eq!((report["published"]["events"].as_u64(), hub.events()), (Some(1005), 1005));
    assert_eq!(report["latency_us"]["receipt"]["count"], 11, "one receipt for each batch");
}

#[test]
fn what_is_consumed_is_what_was_published() {
    let hub = Hub::start();
    for shape in ["consume", "both"] {
        for more in [&[][..], &["--topics", "3", "--connections", "2"], &["--plain", "--size", "1000"]] {
            let report = hub.bench(&[&[shape, "--events", "3000"], more].concat());
            let consumed = &report["consumed"];
            let counts = ["events", "acked", "redelivered", "harmed", "lost"].map(|field| consumed[field].as_u64());
            assert_eq!(counts, [3000, 3000, 0, 0, 0].map(Some), "{shape} {more:?}");
            assert_eq!(report["published"]["events"], 3000);
            assert!(consumed["per_s"].as_f64().unwrap() > 0.0);
            let timed = report["latency_us"]["handler"]["count"].as_u64();
            assert_eq!(timed, (shape == "both").then_some(3000), "a backlog is as old as it is");
        }
    }
}

#[test]
fn latency_is_timed_for_every_event_of_a_steady_pace() {
    let hub = Hub::start();
    let report = hub.bench(&["latency", "--rate", "500", "--duration", "1s", "--connections", "2"]);
    for what in ["receipt", "handler", "late"] {
        let spans = &report["latency_us"][what];
        assert_eq!(spans["count"], 500, "{what}");
        let order = ["min", "p50", "p90", "p99", "p99_9", "max"].map(|name| spans[name].as_f64().unwrap());
        assert!(order.is_sorted(), "{what}: {spans}");
    }
    assert_eq!(report["load"]["rate_per_s"], 500);
    let elapsed_ms = report["published"]["elapsed_ms"].as_f64().unwrap();
    assert!(elapsed_ms >= 990.0, "500 events at 500 a second in {elapsed_ms} ms");
}

#[test]
fn a_stall_counts_for_every_event_that_was_due_in_it() {
    let hub = Hub::start();
    let running = hub.spawn(&["latency", "--rate", "500", "--duration", "2s", "--in-flight", "10"]);
    let deadline = Instant::now() + DEADLINE;
    while hub.events() == 0 {
        assert!(Instant::now() < deadline, "nothing is published");
    }
    hub.served.signal("STOP");
    // Not waiting for anything: this is the stall.
    std::thread::sleep(Duration::from_secs(1));
    hub.served.signal("CONT");
    let ran = Ran::of(running.wait_with_output().unwrap()).exits(0);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    // A tenth of all and more were due in its first 700 ms, though only ten were sent.
    for what in ["receipt", "handler"] {
        let spans = &report["latency_us"][what];
        assert_eq!(spans["count"], 1000);
        assert!(spans["p90"].as_f64().unwrap() > 300_000.0, "{what}: {spans}");
    }
}

#[test]
fn a_fan_out_reaches_every_subscriber_with_every_event() {
    let hub = Hub::start();
    for pace in [&[][..], &["--rate", "1000"]] {
        let report = hub.bench(&[&["fan-out", "--events", "200", "--subscribers", "7"], pace].concat());
        assert_eq!((&report["published"]["events"], &report["consumed"]["events"]), (&json!(200), &json!(1400)));
        assert_eq!((&report["consumed"]["lost"], &report["consumed"]["acked"]), (&json!(0), &json!(0)));
        assert_eq!(report["latency_us"]["handler"]["count"], 1400);
    }
}

#[test]
fn after_a_run_nothing_is_left() {
    let hub = Hub::start();
    let ran = hub.prom(&["bench", "both", "--events", "500", "--warm-up", "100ms"]).exits(0);
    assert!(ran.stdout.contains("are deleted"), "{}", ran.stdout);
    assert!(hub.topics().is_empty(), "{:?}", hub.topics());
    hub.is_clean();
}

#[test]
fn what_is_to_be_kept_stays() {
    let hub = Hub::start();
    let report = hub.bench(&["consume", "--events", "700", "--group", "load", "--keep"]);
    assert_eq!(report["left"]["events"], "kept");
    assert_eq!(hub.groups(), ["load"]);
    assert_eq!((hub.events(), &hub.topics()[0]["settings"]["retention"]), (700, &json!({})));
    let ran = hub.prom(&["bench", "consume", "--events", "1", "--group", "load"]).exits(2);
    assert!(ran.stderr.contains("the group load exists already"), "{}", ran.stderr);
    assert_eq!(hub.groups(), ["load"]);
}

#[test]
fn ctrl_c_cleans_up_and_tells_what_was_measured_so_far() {
    for shape in ["publish", "both", "latency", "fan-out"] {
        let hub = Hub::start();
        let running = hub.spawn(&[shape, "--duration", "10m", "--size", "64"]);
        let deadline = Instant::now() + DEADLINE;
        while hub.events() == 0 {
            assert!(Instant::now() < deadline, "{shape} publishes nothing");
        }
        let sent = Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let ran = Ran::of(running.wait_with_output().unwrap()).exits(0);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["interrupted"], true, "{shape}");
        assert!(report["published"]["events"].as_u64().unwrap() > 0, "{shape}");
        hub.is_clean();
    }
}

#[test]
fn a_hub_that_is_not_there_is_a_clear_error() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ran = prom(&["bench", "publish", "--url", &format!("http://{unused}")]).exits(3);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("cannot reach the hub") && ran.stderr.contains("prom serve"), "{}", ran.stderr);
}

#[test]
fn refused_events_are_counted_and_end_the_run_with_4() {
    let hub = Hub::start_with(&[("JWT_SECRET", SECRET)]);
    let token = |scope: &str| {
        let ran = prom(&["token", "--secret", SECRET, "--sub", "alpha", "--scope", scope]).exits(0);
        ran.stdout.trim().to_owned()
    };
    let bench = ["bench", "publish", "--events", "5000", "--in-flight", "100", "--warm-up", "0s", "--json", "--token"];
    let ran = hub.prom(&[&bench[..], &[&token("publish:other.*")]].concat()).exits(4);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["published"]["events"], 0);
    let (failed, error) = (report["published"]["failed"].as_u64().unwrap(), &report["errors"][0]);
    assert!((1..5000).contains(&failed), "it does not go on forever: {failed}");
    assert_eq!((&error["code"], error["count"].as_u64()), (&json!("forbidden"), Some(failed)));
    assert!(ran.stderr.contains("events failed (forbidden)"), "{}", ran.stderr);

    let ran = hub.prom(&[&bench[..], &[&token("publish:bench.**")]].concat()).exits(0);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&report["published"]["events"], &report["hub"]["version"]), (&json!(5000), &Value::Null));
    assert_eq!(report["left"]["events"], "remaining", "it says what it may not remove");
}

#[test]
fn people_get_figures_and_plots() {
    let hub = Hub::start();
    let ran = hub.prom(&["bench", "latency", "--duration", "500ms", "--warm-up", "0s"]).exits(0);
    for part in
        ["durable    memory 500", "to handler p50 ", "lost 0, harmed 0", "events published per second", "up to "]
    {
        assert!(ran.stdout.contains(part), "{part:?} is missing in\n{}", ran.stdout);
    }
    assert_eq!(ran.stderr, "", "no progress without a terminal");
}

#[test]
fn loads_that_make_no_sense_are_refused_before_anything_is_asked() {
    for wrong in [
        &["publish", "--events", "0"][..],
        &["publish", "--events", "5", "--duration", "1s"],
        &["publish", "--size", "5"],
        &["latency", "--rate", "0"],
        &["consume", "--group", "no spaces"],
        &["fan-out", "--subscribers", "0"],
        &["everything"],
    ] {
        prom(&[&["bench"], wrong].concat()).exits(2);
    }
}
