//! The heartbeat example: `heartbeat.received` comes in, `process.state` goes out, keyed by process. A process that
//! falls silent becomes stale.
//!
//! ```text
//!   heartbeat.received {pid, name, host, cpu_pct, mem_mb}  ──▶  process.state  key host:name:pid, status alive
//!   … silence …                                            ──▶  process.state  the same key, status stale
//! ```
//!
//! Promises: states of one process come in the order of its heartbeats; a heartbeat is acked once its state is stored; an
//! invalid heartbeat is nacked with the reason. The list of processes is kept in memory.

use std::collections::HashMap;
use std::time::Duration;

use prom_client::{Client, ClientOptions, Delivery, Error, EventId, Position, json};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};

pub const HEARTBEATS: &str = "heartbeat.received";
pub const STATES: &str = "process.state";
const GROUP: &str = "process-example";

/// Silence after which a process is stale, unless the test sets another time.
pub const STALE_AFTER: Duration = Duration::from_secs(15);

/// What a process reports, the payload of [`HEARTBEATS`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    pub pid: u32,
    pub name: String,
    pub host: String,
    pub cpu_pct: f64,
    pub mem_mb: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sid: Option<String>,
}

/// The state of a process, the payload of [`STATES`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessState {
    #[serde(rename = "processId")]
    pub process_id: String,
    pub name: String,
    pub host: String,
    pub pid: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sid: Option<String>,
    pub cpu_pct: f64,
    pub mem_mb: f64,
    pub last_seen_ts: i64,
    pub status: ProcessStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessStatus {
    Alive,
    Stale,
}

/// The running example. Dropping it stops it.
pub struct ProcessExample {
    working: JoinHandle<()>,
}

impl ProcessExample {
    /// Begins with the earliest heartbeat of the hub at `url`.
    pub async fn start(url: &str, stale_after: Duration) -> Result<Self, Error> {
        let client = Client::connect(url, ClientOptions::default()).await?;
        let heartbeats = client.subscribe(HEARTBEATS, GROUP).from(Position::Earliest);
        let mut heartbeats = heartbeats.start().await?;
        let working = tokio::spawn(async move {
            let mut processes = Processes { client, stale_after, known: HashMap::new() };
            let mut looks = tokio::time::interval((stale_after / 4).max(Duration::from_millis(1)));
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    heartbeat = heartbeats.next() => match heartbeat {
                        Some(heartbeat) => processes.hear(heartbeat).await,
                        None => return,
                    },
                    _ = looks.tick() => processes.look_for_silence().await,
                }
            }
        });
        Ok(Self { working })
    }
}

impl Drop for ProcessExample {
    fn drop(&mut self) {
        self.working.abort();
    }
}

struct Processes {
    client: Client,
    stale_after: Duration,
    known: HashMap<String, Known>,
}

struct Known {
    state: ProcessState,
    heard: Instant,
    heartbeat: EventId,
}

impl Processes {
    async fn hear(&mut self, delivery: Delivery) {
        let heartbeat: Heartbeat = match delivery.payload() {
            Ok(heartbeat) => heartbeat,
            // Whether the nack arrives or the lease expires, it is a failed attempt.
            Err(error) => return drop(delivery.nack(&format!("not a heartbeat: {error}")).await),
        };
        let state = state_of(heartbeat, delivery.stored_ts());
        match self.publish(&state, delivery.id()).await {
            Ok(()) => drop(delivery.ack().await),
            Err(error) => drop(delivery.nack(&error.to_string()).await),
        }
        let known = Known { heard: Instant::now(), heartbeat: delivery.id(), state };
        self.known.insert(known.state.process_id.clone(), known);
    }

    /// A stale process is forgotten once its state is stored; its next heartbeat brings it back.
    async fn look_for_silence(&mut self) {
        let is_silent = |known: &&Known| known.heard.elapsed() >= self.stale_after;
        let silent: Vec<String> =
            self.known.values().filter(is_silent).map(|known| known.state.process_id.clone()).collect();
        for process_id in silent {
            let Some(known) = self.known.remove(&process_id) else { continue };
            let state = ProcessState { status: ProcessStatus::Stale, ..known.state.clone() };
            if self.publish(&state, known.heartbeat).await.is_err() {
                self.known.insert(process_id, known);
            }
        }
    }

    async fn publish(&self, state: &ProcessState, cause: EventId) -> Result<(), Error> {
        let publish = self.client.publish(STATES, json!(state)).key(&state.process_id).caused_by(cause);
        publish.await.map(drop)
    }
}

fn state_of(heartbeat: Heartbeat, last_seen_ts: i64) -> ProcessState {
    let Heartbeat { pid, name, host, cpu_pct, mem_mb, sid } = heartbeat;
    let process_id = format!("{host}:{name}:{pid}");
    ProcessState { process_id, name, host, pid, sid, cpu_pct, mem_mb, last_seen_ts, status: ProcessStatus::Alive }
}
