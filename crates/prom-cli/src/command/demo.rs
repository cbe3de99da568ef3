//! `prom demo`: a hub with the process example, and hosts that are simulated.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use prom_client::{Client, ClientOptions};
use serde_json::{Value, json};

use crate::config::{self, DocumentPlace, Overrides, ProjectorMakes, StoreKind, load_text};
use crate::exit::CommandResult;
use crate::serve::{self, Beside};

/// What the hub is told, as in the examples.
const CONFIG: &str = include_str!("../../../../examples/processes/prom.toml");
const NAMES: [&str; 6] = ["web", "api", "worker", "cache", "mailer", "search"];
const BEAT: Duration = Duration::from_secs(1);

/// Start a hub with simulated hosts whose processes send heartbeats
#[derive(Debug, Args)]
#[command(after_help = "\
Heartbeats become process states, and states become documents and counters: see the dashboard, or /list/processes \
and /list/host_stats. Now and then a process falls silent, and is stale after 15 seconds.

Examples:
  prom demo
  prom demo --hosts 50 --listen 127.0.0.1:9000
  prom demo --data ./demo
  prom demo --mongo mongodb://127.0.0.1:27017/demo?replicaSet=rs0")]
pub struct Demo {
    /// Number of simulated hosts
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    hosts: u32,
    /// Address and port
    #[arg(long, value_name = "ADDR", value_parser = config::parse_address)]
    listen: Option<SocketAddr>,
    /// Keep the events in this directory, instead of in memory
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Keep the documents in this MongoDB, instead of in the hub
    #[arg(long, value_name = "URL", value_parser = config::parse_mongo_url)]
    mongo: Option<String>,
    /// Log level on standard error: error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL", value_parser = config::parse_level)]
    log: Option<String>,
}

impl Demo {
    pub async fn run(self) -> CommandResult {
        let store = if self.data.is_some() { StoreKind::Embedded } else { StoreKind::Memory };
        let overrides = Overrides {
            listen: self.listen,
            data: self.data,
            store: Some(store),
            log_level: self.log.or_else(|| Some("warn".to_owned())),
            ..Overrides::default()
        };
        let mut loaded = load_text("examples/processes/prom.toml", CONFIG, overrides)?;
        if let Some(url) = self.mongo {
            for declared in &mut loaded.config.projectors {
                if let ProjectorMakes::Documents { place, .. } | ProjectorMakes::Edits { place, .. } =
                    &mut declared.makes
                {
                    *place = DocumentPlace::Mongo(Some(url.clone()));
                }
            }
        }
        let hosts = self.hosts;
        let pages = ["#/state?topic=process.state", "list/processes", "list/host_stats"].map(str::to_owned).to_vec();
        serve::run_beside(loaded, Beside { pages, work: Box::new(move |url| Box::pin(simulate(url, hosts))) }).await
    }
}

/// Beats until the hub is gone.
async fn simulate(url: String, hosts: u32) {
    let client = match Client::connect(&url, ClientOptions::default()).await {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(%error, "the simulated hosts do not reach the hub");
            return;
        }
    };
    let mut processes: Vec<SimulatedProcess> = (0..hosts).flat_map(SimulatedProcess::of_host).collect();
    let mut beats = tokio::time::interval(BEAT);
    for beat in 0_u64.. {
        beats.tick().await;
        let reports: Vec<Value> = processes.iter_mut().filter_map(|process| process.beat(beat)).collect();
        let publish = |report: Value| client.publish("heartbeat.received", report).send();
        // All are on their way before the first is waited for.
        let sent: Vec<_> = reports.into_iter().map(publish).collect();
        for publishing in sent {
            if let Err(error) = publishing.await {
                tracing::warn!(%error, "a heartbeat was not stored");
            }
        }
    }
}

/// A process whose load wanders, and that is silent now and then.
struct SimulatedProcess {
    host: u32,
    name: &'static str,
    pid: u32,
    seed: u64,
    cpu_pct: f64,
    silent_until: u64,
}

impl SimulatedProcess {
    fn of_host(host: u32) -> impl Iterator<Item = Self> {
        let names = NAMES.into_iter().enumerate();
        names.map(move |(at, name)| {
            let at = at as u32;
            let seed = u64::from(host * 31 + at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Self { host, name, pid: 1000 + host * 10 + at, seed, cpu_pct: 20.0, silent_until: 0 }
        })
    }

    /// What it reports at this beat, unless it is silent.
    fn beat(&mut self, beat: u64) -> Option<Value> {
        if beat < self.silent_until {
            return None;
        }
        if self.dice(300) == 0 {
            self.silent_until = beat + 20 + self.dice(20);
        }
        let step = self.dice(21) as f64 - 10.0;
        self.cpu_pct = (self.cpu_pct + step).clamp(0.0, 100.0);
        let mem_mb = 100 + self.dice(50);
        let host = format!("host-{}", self.host + 1);
        Some(json!({"pid": self.pid, "name": self.name, "host": host, "cpu_pct": self.cpu_pct, "mem_mb": mem_mb}))
    }

    /// From 0 to below `sides`.
    fn dice(&mut self, sides: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed % sides
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_a_configuration_with_three_projectors() {
        let loaded = load_text("prom.toml", CONFIG, Overrides::default()).unwrap();
        let names: Vec<&str> = loaded.config.projectors.iter().map(|declared| declared.name.as_str()).collect();
        assert_eq!(names, ["process.state", "processes", "host_stats"]);
    }

    #[test]
    fn every_process_reports_and_every_one_is_silent_at_some_time() {
        let mut processes: Vec<SimulatedProcess> = (0..3).flat_map(SimulatedProcess::of_host).collect();
        for process in &mut processes {
            let beats = (0..3000).filter(|beat| process.beat(*beat).is_some()).count();
            assert!((1500..3000).contains(&beats), "{} {}: {beats}", process.host, process.name);
        }
    }
}
