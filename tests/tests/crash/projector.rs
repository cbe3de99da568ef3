//! A hub killed while its projectors write: counters equal the number of events, and every key has its newest event, in the hub's
//! own store and in MongoDB.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mongodb::bson::{Document, doc};
use prom_testkit::{HubProcess, Random};
use serde_json::{Value, json};

use crate::rounds::rounds;

const TOPIC: &str = "process.state";
const KEYS: u64 = 200;
const HOSTS: u64 = 7;
/// Published before each kill: more than the projectors take until then.
const EVENTS: u64 = 2500;
const PATIENCE: Duration = Duration::from_secs(120);

fn config(mongo: &str) -> String {
    let edits = r#".payload | {collection: "COLLECTION", key: .host, inc: {events: 1}, max: {n: .n}}"#;
    format!(
        r#"
[[topic]]
name = "{TOPIC}"
partitions = 3

[[projector]]
topic = "{TOPIC}"
collection = "processes"

[[projector]]
name = "host_stats"
topic = "{TOPIC}"
collections = ["host_stats"]
edits = '{}'

[[projector]]
topic = "{TOPIC}"
collection = "processes_there"
target = "mongo"
url = "{mongo}"

[[projector]]
name = "host_stats_there"
topic = "{TOPIC}"
target = "mongo"
url = "{mongo}"
collections = ["host_stats_there"]
edits = '{}'
"#,
        edits.replace("COLLECTION", "host_stats"),
        edits.replace("COLLECTION", "host_stats_there"),
    )
}

/// More with `PROM_PROJECTOR_KILLS` (100 is the long form); other kill points with `PROM_CRASH_SEED`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn projectors_whose_hub_is_killed_again_and_again_count_every_event_once_and_keep_the_newest() {
    let (kills, seed) = (rounds("PROM_PROJECTOR_KILLS", 5), rounds("PROM_CRASH_SEED", 1));
    eprintln!("projector: {kills} kills, seed {seed}");
    let mut random = Random::seeded(seed);
    let home = tempfile::tempdir().unwrap();
    let url = prom_testkit::mongo::shared().await.unwrap().fresh_url();
    let file = home.path().join("prom.toml");
    std::fs::write(&file, config(&url)).unwrap();
    let (data, file) = (home.path().join("data"), file.to_string_lossy().into_owned());
    let arguments = ["--data", &data.to_string_lossy(), "--config", &file, "--log", "error"];
    let hub = HubProcess::start(&arguments, &[]).unwrap();
    let database = mongodb::Client::with_uri_str(&url).await.unwrap().default_database().unwrap();
    let mut scene = Scene { hub, http: reqwest::Client::new(), database, published: 0 };
    for _ in 0..kills {
        scene.publish().await;
        tokio::time::sleep(Duration::from_micros(random.within(0..120_000))).await;
        scene.hub.kill().unwrap();
        scene.hub.restart().unwrap();
    }
    scene.publish().await;
    scene.in_step().await;
    let (processes, hosts) = scene.expected();
    assert_eq!(scene.stored("host_stats").await, hosts, "the hub's store");
    assert_eq!(scene.in_mongo("host_stats_there").await, hosts, "MongoDB");
    assert_eq!(scene.stored("processes").await, processes, "the hub's store");
    assert_eq!(scene.in_mongo("processes_there").await, processes, "MongoDB");
}

struct Scene {
    hub: HubProcess,
    http: reqwest::Client,
    database: mongodb::Database,
    published: u64,
}

fn payload(n: u64) -> Value {
    json!({"n": n, "host": format!("h{}", n % HOSTS)})
}

impl Scene {
    async fn publish(&mut self) {
        let event = |n: u64| json!({"topic": TOPIC, "payload": payload(n), "opts": {"key": (n % KEYS).to_string()}});
        let events: Vec<Value> = (self.published..self.published + EVENTS).map(event).collect();
        let request = self.http.post(format!("{}/publish", self.hub.url())).body(Value::from(events).to_string());
        request.send().await.unwrap().error_for_status().unwrap();
        self.published += EVENTS;
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.http.get(format!("{}{path}", self.hub.url())).send().await.unwrap();
        serde_json::from_str(&answer.error_for_status().unwrap().text().await.unwrap()).unwrap()
    }

    /// Waits until each group of the topic has everything.
    async fn in_step(&self) {
        let began = Instant::now();
        loop {
            let lags = self.get("/lag").await;
            let of_topic: Vec<u64> = lags["lags"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|lag| lag["topic"] == TOPIC)
                .map(|lag| lag["lagEvents"].as_u64().unwrap())
                .collect();
            if of_topic.len() == 4 && of_topic.iter().all(|lag| *lag == 0) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "the projectors do not come to an end: {lags}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// By key: the newest event, and what the events of a host add up to.
    fn expected(&self) -> (BTreeMap<String, Value>, BTreeMap<String, Value>) {
        let (mut processes, mut hosts) = (BTreeMap::new(), BTreeMap::<String, (u64, u64)>::new());
        for n in 0..self.published {
            processes.insert((n % KEYS).to_string(), payload(n));
            let (events, newest) = hosts.entry(format!("h{}", n % HOSTS)).or_default();
            (*events, *newest) = (*events + 1, n);
        }
        let host = |(name, (events, n)): (String, (u64, u64))| (name, json!({"events": events, "n": n}));
        (processes, hosts.into_iter().map(host).collect())
    }

    async fn stored(&self, name: &str) -> BTreeMap<String, Value> {
        let list = self.get(&format!("/list/{name}?limit=1000")).await;
        list["items"].as_array().unwrap().iter().cloned().map(keyed).collect()
    }

    async fn in_mongo(&self, name: &str) -> BTreeMap<String, Value> {
        let mut found = self.database.collection::<Document>(name).find(doc! {}).await.unwrap();
        let mut documents = BTreeMap::new();
        while found.advance().await.unwrap() {
            documents.extend([keyed(serde_json::to_value(found.deserialize_current().unwrap()).unwrap())]);
        }
        documents
    }
}

/// What the projector adds is left out.
fn keyed(mut document: Value) -> (String, Value) {
    let key = document["_key"].as_str().unwrap().to_owned();
    document.as_object_mut().unwrap().retain(|name, _| !name.starts_with('_'));
    (key, document)
}
