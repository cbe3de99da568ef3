//! A member that is stopped for longer than its time to live: the real binary, real processes.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use prom_testkit::HubProcess;
use serde_json::{Value, json};

const TTL: Duration = Duration::from_millis(1500);
const DEADLINE: Duration = Duration::from_secs(60);

struct Member {
    process: Child,
    said: Arc<Mutex<Vec<String>>>,
}

impl Member {
    fn start(hub: &HubProcess, name: &str, hold: Duration) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_member"))
            .args([&hub.url(), "orders", "g", name])
            .args([TTL.as_millis().to_string(), hold.as_millis().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let (lines, heard) = (BufReader::new(process.stdout.take().unwrap()).lines(), said.clone());
        thread::spawn(move || lines.map_while(Result::ok).for_each(|line| heard.lock().unwrap().push(line)));
        Self { process, said }
    }

    fn signal(&self, signal: &str) {
        let told = Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
        assert!(told.success());
    }

    /// How many of its lines have this prefix.
    fn count(&self, beginning: &str) -> usize {
        self.said.lock().unwrap().iter().filter(|line| line.starts_with(beginning)).count()
    }

    fn lines(&self, beginning: &str) -> Vec<String> {
        self.said.lock().unwrap().iter().filter(|line| line.starts_with(beginning)).cloned().collect()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.process.kill();
        let _gone = self.process.wait();
    }
}

struct Scene {
    hub: HubProcess,
    http: reqwest::Client,
}

impl Scene {
    async fn get(&self, path: &str) -> Value {
        let answer = self.http.get(format!("{}{path}", self.hub.url())).send().await.unwrap();
        answer.json().await.unwrap()
    }

    /// The partitions of a member, once the hub reports that nothing moves.
    async fn owned(&self, member: &str) -> Vec<u64> {
        let told = self.get("/partitions?topic=orders&group=g").await;
        let Some(partitions) = told["partitions"].as_array() else { return Vec::new() };
        if partitions.iter().any(|one| !one["moving_to"].is_null()) {
            return Vec::new();
        }
        let theirs = partitions.iter().filter(|one| one["owner"] == member);
        theirs.filter_map(|one| one["partition"].as_u64()).collect()
    }

    async fn publish(&self, numbers: std::ops::Range<u32>) {
        let events: Vec<Value> = numbers
            .map(|number| json!({"topic": "orders", "payload": number, "opts": {"key": number.to_string()}}))
            .collect();
        let answer = self.http.post(format!("{}/publish", self.hub.url())).json(&events).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    }
}

/// Every request uses a separate connection.
fn http() -> reqwest::Client {
    reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap()
}

async fn until(what: &str, condition: impl AsyncFn() -> bool) -> Duration {
    let begin = Instant::now();
    while !condition().await {
        assert!(begin.elapsed() < DEADLINE, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    begin.elapsed()
}

#[tokio::test]
async fn a_member_stopped_past_its_time_to_live_loses_its_partitions_and_its_later_acks_are_refused() {
    let scene = Scene { hub: HubProcess::in_memory().unwrap(), http: http() };
    let topic = scene.http.put(format!("{}/topics/orders", scene.hub.url())).json(&json!({"partitions": 8}));
    assert!(topic.send().await.unwrap().status().is_success());
    let alpha = Member::start(&scene.hub, "alpha", Duration::from_millis(300));
    // Slow enough that the events he took over are not settled yet when she wakes.
    let beta = Member::start(&scene.hub, "beta", Duration::from_millis(1500));
    until("a fair share", async || scene.owned("alpha").await.len() == 4 && scene.owned("beta").await.len() == 4).await;
    let of_alpha = scene.owned("alpha").await;
    scene.publish(0..400).await;
    until("work", async || alpha.count("acked") > 5).await;

    alpha.signal("-STOP");
    let taken_over = until("a takeover", async || scene.owned("beta").await.len() == 8).await;
    assert!(taken_over >= TTL / 2, "it was taken over too early, after {taken_over:?}");
    let flows = until("events of her partitions elsewhere", async || {
        let took = beta.lines("took");
        of_alpha.iter().all(|partition| took.iter().any(|line| line.starts_with(&format!("took {partition} "))))
    })
    .await;

    let refused_before = alpha.count("refused");
    assert_eq!(refused_before, 0, "{:?}", alpha.lines("refused"));
    alpha.signal("-CONT");
    until("a refusal", async || alpha.count("refused") > 0).await;
    let refused = alpha.lines("refused");
    assert!(refused[0].contains("no longer this member's to settle"), "{refused:?}");
    let back = until("her return", async || scene.owned("alpha").await.len() == 4).await;
    until("the end", async || scene.get("/lag?topic=orders&group=g").await["lagEvents"] == 0).await;
    eprintln!(
        "stopped member: taken over after {taken_over:?} (time to live {TTL:?}), its events flowed {flows:?} later, back {back:?} after it woke"
    );
    assert!(alpha.count("revoked") > 0 && alpha.count("assigned") > 1, "{:?}", alpha.lines("assigned"));
}
