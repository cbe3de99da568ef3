//! A hub killed in the middle of a cutover: the next run goes on, and at the end every event is there once and in order.

use std::collections::BTreeMap;
use std::time::Duration;

use prom_testkit::{HubProcess, Random};
use serde_json::{Value, json};

use crate::rounds::rounds;

const TOPIC: &str = "heartbeat.received";
const OLD: u64 = 2000;
const NEW: u64 = 2000;
/// Written to both topics before the cutover.
const TWICE: u64 = 300;
/// Keys of the state, of which the last ones are deleted.
const KEYS: u64 = 5000;
const LIVE: u64 = 4900;
const TO_VERSION: &str = "{}";
const TO_SNAPSHOT: &str = r#"{"to_snapshot":true}"#;

/// More with `PROM_CUTOVER_KILLS`; other kill points with `PROM_CRASH_SEED`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cutover_whose_hub_is_killed_again_and_again_ends_with_every_event_once_and_in_order() {
    let (kills, seed) = (rounds("PROM_CUTOVER_KILLS", 6), rounds("PROM_CRASH_SEED", 1));
    eprintln!("cutover: {kills} kills, seed {seed}");
    let mut random = Random::seeded(seed);
    let data = tempfile::tempdir().unwrap();
    let mut scene = Scene { hub: HubProcess::on(data.path()).unwrap(), http: reqwest::Client::new() };
    scene.fill().await;
    let mut read = 0;
    for kill in 0..kills {
        let before = read;
        read = scene.cut_over_until(TO_VERSION, random.within(1..4)).await.max(read);
        assert!(read > before, "kill {kill}: it began anew, or came to its end: {read} after {before}");
        tokio::time::sleep(Duration::from_micros(random.within(0..8000))).await;
        scene.hub.kill().unwrap();
        scene.hub.restart().unwrap();
    }
    let done = scene.cut_over(TO_VERSION).await;
    let all = OLD + NEW + TWICE;
    let counts = ["read", "written", "already", "skipped", "left"].map(|name| done[name].as_u64().unwrap());
    assert_eq!(counts, [all, OLD + NEW, TWICE, 0, 0], "{done}");
    assert_eq!(done["adds_up"], true);
    scene.compare().await;
}

/// The same for the state: at the end the newest event of each key is there once, sorted, and closed by its markers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_whose_hub_is_killed_again_and_again_ends_with_every_live_key_once() {
    let (kills, seed) = (rounds("PROM_CUTOVER_KILLS", 6), rounds("PROM_CRASH_SEED", 1));
    eprintln!("cutover into a snapshot: {kills} kills, seed {seed}");
    let mut random = Random::seeded(seed);
    let data = tempfile::tempdir().unwrap();
    let mut scene = Scene { hub: HubProcess::on(data.path()).unwrap(), http: reqwest::Client::new() };
    scene.make_topic().await;
    scene.publish_state().await;
    // What it is made of is there already: kills meet the copying.
    scene.post(&format!("/topics/{TOPIC}/snapshot"), String::new()).await.text().await.unwrap();
    let mut read = 0;
    for kill in 0..kills {
        let before = read;
        read = scene.cut_over_until(TO_SNAPSHOT, random.within(2..4)).await.max(read);
        assert!(read > before, "kill {kill}: it began anew, or came to its end: {read} after {before}");
        tokio::time::sleep(Duration::from_micros(random.within(0..8000))).await;
        scene.hub.kill().unwrap();
        scene.hub.restart().unwrap();
    }
    let done = scene.cut_over(TO_SNAPSHOT).await;
    let counts = ["read", "written", "already", "skipped", "left"].map(|name| done[name].as_u64().unwrap());
    assert_eq!(counts, [LIVE, LIVE, 0, 0, 0], "{done}");
    assert_eq!(done["adds_up"], true);
    let stored = scene.events(&format!("{TOPIC}.snapshot.v2")).await;
    let (markers, events): (Vec<Value>, Vec<Value>) = stored.into_iter().partition(|event| event["key"].is_null());
    assert_eq!((markers.len(), events.len() as u64), (3, LIVE));
    let mut keys: Vec<&str> = events.iter().map(|event| event["key"].as_str().unwrap()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len() as u64, LIVE, "twice");
    for event in &events {
        let original = &event["payload"];
        assert_eq!((&original["key"], &original["payload"]["mem_mib"]), (&event["key"], &json!(2)), "{event}");
        assert!(original["payload"].get("mem_mb").is_none(), "{event}");
    }
    let count: u64 = markers.iter().map(|marker| marker["payload"]["count"].as_u64().unwrap()).sum();
    assert_eq!(count, LIVE);
}

struct Scene {
    hub: HubProcess,
    http: reqwest::Client,
}

impl Scene {
    async fn post(&self, path: &str, body: String) -> reqwest::Response {
        let request = self.http.post(format!("{}{path}", self.hub.url())).body(body);
        request.send().await.unwrap().error_for_status().unwrap()
    }

    /// Two versions, three partitions.
    async fn fill(&self) {
        self.make_topic().await;
        self.publish(0..OLD, "mem_mb", false).await;
        self.publish(OLD..OLD + TWICE, "mem_mib", true).await;
        self.publish(OLD + TWICE..OLD + TWICE + NEW, "mem_mib", false).await;
    }

    async fn make_topic(&self) {
        let topic = format!("{}/topics/{TOPIC}", self.hub.url());
        let made = self.http.put(topic).body(json!({"partitions": 3}).to_string()).send().await.unwrap();
        made.error_for_status().unwrap();
        let schema = |memory: &str| {
            json!({"type": "object", "properties": {"pid": {"type": "integer"}, memory: {"type": "number"}},
                "required": ["pid", memory]})
        };
        let register = format!("/topics/{TOPIC}/schema");
        self.post(&register, json!({"schema": schema("mem_mb")}).to_string()).await;
        let second =
            json!({"schema": schema("mem_mib"), "compat": "upcast", "upcast": ".mem_mib = .mem_mb | del(.mem_mb)"});
        self.post(&register, second.to_string()).await;
    }

    /// Every key twice, the first time as another version.
    async fn publish_state(&self) {
        let event = |key: u64, payload: Value| json!({"topic": TOPIC, "payload": payload, "opts": {"key": format!("k{key:05}")}});
        let old = (0..KEYS).map(|key| event(key, json!({"pid": key, "mem_mib": 1})));
        let new = (0..LIVE).map(|key| event(key, json!({"pid": key, "mem_mb": 2})));
        let events: Vec<Value> = old.chain(new).chain((LIVE..KEYS).map(|key| event(key, Value::Null))).collect();
        for some in events.chunks(2000) {
            self.post("/publish", Value::from(some.to_vec()).to_string()).await;
        }
    }

    async fn publish(&self, numbers: std::ops::Range<u64>, memory: &str, twice: bool) {
        let event = |number: u64| {
            json!({"topic": TOPIC, "payload": {"pid": number, memory: 1},
                "opts": {"key": (number % 50).to_string(), "dual_write": twice}})
        };
        let events: Vec<Value> = numbers.map(event).collect();
        self.post("/publish", Value::from(events).to_string()).await;
    }

    /// Reads so many lines of progress, and returns how many events the last one tells of.
    async fn cut_over_until(&self, body: &str, lines: u64) -> u64 {
        let mut answer = self.post(&format!("/topics/{TOPIC}/cutover"), body.to_owned()).await;
        let mut text = Vec::new();
        while (text.iter().filter(|byte| **byte == b'\n').count() as u64) < lines {
            text.extend_from_slice(&answer.chunk().await.unwrap().expect("it came to its end too early"));
        }
        let text = String::from_utf8(text).unwrap();
        let last = text.rsplit('\n').nth(1).unwrap();
        let last: Value = serde_json::from_str(last).unwrap();
        last["progress"]["read"].as_u64().unwrap_or_else(|| panic!("{last}"))
    }

    async fn cut_over(&self, body: &str) -> Value {
        let answer = self.post(&format!("/topics/{TOPIC}/cutover"), body.to_owned()).await.text().await.unwrap();
        let last: Value = serde_json::from_str(answer.lines().last().unwrap()).unwrap();
        last["done"].clone()
    }

    async fn events(&self, topic: &str) -> Vec<Value> {
        let url = format!("{}/export?topic={topic}&ndjson=1", self.hub.url());
        let text = self.http.get(url).send().await.unwrap().error_for_status().unwrap().text().await.unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    async fn compare(&self) {
        let (before, after) = (self.events(TOPIC).await, self.events(&format!("{TOPIC}.v2")).await);
        assert_eq!((before.len() as u64, after.len() as u64), (OLD + NEW + TWICE, OLD + NEW + TWICE));
        let mut places: BTreeMap<u64, (u64, &Value)> = BTreeMap::new();
        for event in &after {
            let payload = &event["payload"];
            assert!(payload.get("mem_mb").is_none() && payload["mem_mib"] == 1, "{event}");
            let place = (event["partition"].as_u64().unwrap(), event);
            assert!(places.insert(payload["pid"].as_u64().unwrap(), place).is_none(), "twice: {event}");
        }
        for event in &before {
            let (partition, moved) = places[&event["payload"]["pid"].as_u64().unwrap()];
            assert_eq!(
                (&event["partition"], &event["id"], &event["key"], &event["ts"]),
                (&json!(partition), &moved["id"], &moved["key"], &moved["ts"])
            );
        }
        let in_order = |events: &[Value], partition: u64| -> Vec<u64> {
            let of_it = events.iter().filter(|event| event["partition"] == partition);
            let numbers = of_it.map(|event| event["payload"]["pid"].as_u64().unwrap());
            numbers.filter(|number| !(OLD..OLD + TWICE).contains(number)).collect()
        };
        for partition in 0..3 {
            assert_eq!(in_order(&before, partition), in_order(&after, partition), "partition {partition}");
        }
    }
}
