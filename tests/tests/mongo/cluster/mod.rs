//! Several hubs on a replica set of three, and clients that write down what they see.

mod client;
mod cursors;
mod faults;
mod finish;
mod flow;
mod primaries;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use prom_testkit::HubProcess;
use prom_testkit::history::clients::{GroupOrder, Observation, Recorder};
use prom_testkit::mongo::{ReplicaSet, SetMember};
use serde_json::{Value, json};
use tempfile::TempDir;

pub use client::{Duty, Worker};
use cursors::CursorWatch;
use flow::Flow;
use primaries::PrimaryWatch;

pub const TOPIC: &str = "orders";
pub const HUB_TTL: Duration = Duration::from_secs(3);
/// How late things may be seen on a machine that runs all of this at once.
const LATENCY: Duration = Duration::from_secs(1);

/// A group and what it is promised.
#[derive(Debug, Clone, Copy)]
pub struct PromisedGroup {
    pub name: &'static str,
    pub order: GroupOrder,
}

pub struct Cluster {
    pub set: ReplicaSet,
    pub hubs: Vec<HubProcess>,
    pub groups: &'static [PromisedGroup],
    pub flow: Arc<Flow>,
    recorder: Arc<Recorder>,
    cursors: CursorWatch,
    primaries: Arc<PrimaryWatch>,
    http: reqwest::Client,
    folder: TempDir,
    history: PathBuf,
}

impl Cluster {
    /// The history goes to `history`, or into a temporary folder.
    pub async fn start(
        hubs: usize,
        partitions: u32,
        groups: &'static [PromisedGroup],
        history: Option<PathBuf>,
    ) -> Self {
        let folder = TempDir::new().unwrap();
        let history = history.unwrap_or_else(|| folder.path().join("history.ndjson"));
        let recorder = Arc::new(Recorder::create(&history).unwrap());
        let millis = |time: Duration| time.as_millis() as u64;
        recorder.note(Observation::Run { hub_ttl_ms: millis(HUB_TTL), latency_ms: millis(LATENCY) });
        for group in groups {
            recorder.note(Observation::Group { group: group.name.to_owned(), order: group.order });
        }
        let set = ReplicaSet::start(3).await.unwrap();
        eprintln!("the history and the logs of hubs: {}; the servers: {}", history.display(), set.folder().display());
        let url = set.url("prom");
        let hubs = (1..=hubs).map(|number| start_hub(&url, &log_of(&history, number))).collect();
        let flow = Arc::new(Flow::new(groups, partitions));
        let cursors = CursorWatch::watch(&url, recorder.clone()).await;
        let addresses: Vec<String> = set.members.iter().map(SetMember::address).collect();
        let primaries = Arc::new(PrimaryWatch::watch(&addresses, recorder.clone()).await);
        let http = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
        let cluster = Self { set, hubs, groups, flow, recorder, cursors, primaries, http, folder, history };
        let topic = cluster.http.put(format!("{}/topics/{TOPIC}", cluster.hubs[0].url()));
        let answer = topic.json(&json!({ "partitions": partitions })).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
        cluster
    }

    /// The first is `hub-1`.
    pub fn hub_name(index: usize) -> String {
        format!("hub-{}", index + 1)
    }

    /// A client of a hub, under its own name.
    pub async fn worker(&self, name: &str, hub: usize, duty: Duty) -> Worker {
        let spec = client::ClientSpec { name: name.to_owned(), hub: Self::hub_name(hub), url: self.hubs[hub].url() };
        let (recorder, flow, primaries) = (self.recorder.clone(), self.flow.clone(), self.primaries.clone());
        Worker::start(spec, duty, self.groups, recorder, flow, primaries).await
    }

    pub async fn get(&self, hub: usize, path: &str) -> Option<Value> {
        let answer = self.http.get(format!("{}{path}", self.hubs[hub].url())).send().await.ok()?;
        let answer = answer.error_for_status().ok()?;
        answer.json().await.ok()
    }

    /// The hub that dispatches a group.
    pub async fn owner_of(&self, group: &str) -> usize {
        let url = self.cursors.owner_url(group).await.unwrap();
        self.hubs.iter().position(|hub| hub.url() == url).unwrap_or_else(|| panic!("no hub is at {url}"))
    }
}

/// A run that fails leaves what is needed to judge it: the history, who was primary when, the logs of hubs and servers.
impl Drop for Cluster {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        self.folder.disable_cleanup(true);
        for (index, server) in self.set.members.iter().enumerate() {
            let log = self.history.with_extension(format!("server-{}.log", index + 1));
            if let Err(error) = std::fs::write(&log, server.log()) {
                eprintln!("{} cannot be written: {error}", log.display());
            }
        }
        if let Err(error) = self.recorder.finish() {
            eprintln!("the history is not complete: {error}");
        }
        eprintln!("left to judge: {} and the logs beside it", self.history.display());
    }
}

fn start_hub(mongo: &str, log: &Path) -> HubProcess {
    let ttl = format!("{}s", HUB_TTL.as_secs());
    let arguments = ["--store", "mongo", "--mongo", mongo, "--hub-ttl", &ttl, "--log", "info"];
    HubProcess::start_logging_to(log, &arguments, &[]).unwrap()
}

/// Next to the history.
fn log_of(history: &Path, hub: usize) -> PathBuf {
    history.with_extension(format!("hub-{hub}.log"))
}

/// Waits until a condition holds, with a deadline.
pub async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let deadline = Duration::from_secs(90);
    assert!(tokio::time::timeout(deadline, waiting).await.is_ok(), "{what} did not happen within {deadline:?}");
}
