//! Hubs on one MongoDB store that drain the outboxes of a configuration, and what they published.

use std::path::PathBuf;
use std::time::Duration;

use prom_client::{Client, ClientOptions, Position, StoredEvent};
use prom_testkit::HubProcess;
use prom_testkit::postgres::Postgres;
use prom_testkit::tools::ToolError;
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::timeout;

/// For one event, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A configuration of its own and a store of its own.
pub struct Scene {
    _folder: TempDir,
    /// Of the service.
    pub database: String,
    config: PathBuf,
}

impl Scene {
    /// `outboxes` is the part of the configuration with them; `{mongo}` stands for the service's database.
    pub async fn new(outboxes: &str) -> Self {
        let server = prom_testkit::mongo::shared().await.unwrap();
        let (store, database) = (server.fresh_url(), server.fresh_url());
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("prom.toml");
        let outboxes = outboxes.replace("{mongo}", &database);
        let text = format!("[store]\nkind = \"mongo\"\n[mongo]\nurl = \"{store}\"\nhub_ttl = \"2s\"\n{outboxes}");
        std::fs::write(&config, text).unwrap();
        Self { _folder: folder, database, config }
    }

    pub fn hub(&self) -> HubProcess {
        HubProcess::start(&["--config", &self.config.to_string_lossy()], &[]).unwrap()
    }
}

/// PostgreSQL; `None`, with a word, where it is not installed. CI installs it.
pub fn postgres() -> Option<Postgres> {
    match Postgres::start(&["fsync=off"]) {
        Ok(cluster) => Some(cluster),
        Err(missing @ ToolError::Missing(_)) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: {missing}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The first events of a topic.
pub async fn events(hub: &HubProcess, topic: &str, count: usize) -> Vec<StoredEvent> {
    let client = Client::connect(&hub.url(), ClientOptions::default()).await.unwrap();
    let mut tail = client.tail(topic).from(Position::Earliest).start().await.unwrap();
    let mut events = Vec::with_capacity(count);
    while events.len() < count {
        let Ok(next) = timeout(PATIENCE, tail.next()).await else {
            panic!("{} of {count} events came, {} are stored", events.len(), ever_published(hub, topic).await);
        };
        events.push(next.unwrap());
    }
    client.close().await;
    events
}

/// How many events a topic of one partition ever had.
pub async fn ever_published(hub: &HubProcess, topic: &str) -> u64 {
    let answer = reqwest::get(format!("{}/topics/{topic}", hub.url())).await.unwrap();
    let topic: Value = answer.json().await.unwrap();
    topic["partitions"][0]["head"].as_u64().unwrap_or_else(|| panic!("{topic}"))
}
