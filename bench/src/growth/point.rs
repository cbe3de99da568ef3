//! The figures at one size, and the verbs that give them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prom_types::Position;

use crate::args::GrowthArgs;
use crate::load::publish::{self, PAYLOAD_BYTES, Publishing};
use crate::load::rate::Spans;
use crate::load::server::Server;
use crate::load::topics::Topics;
use crate::load::{both, latency};
use crate::ours::HubContender;
use crate::summary::Summary;

/// Of the group that consumes.
pub const MEMBERS: usize = 1;
const LATENCY: Duration = Duration::from_secs(2);

/// What is measured at each size. Not every axis has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Publish,
    Consume,
    Both,
    Deliveries,
    P50,
    P99,
    Open,
    Metrics,
    Lags,
    GroupList,
    Resident,
    ResidentAfterLists,
    ResidentAtRest,
    EachConnection,
    Disk,
}

/// Each with its column and its name in JSON, in the order of the tables.
pub const COLUMNS: [(What, &str, &str); 15] = [
    (What::Publish, "publish, events/s", "publish_per_second"),
    (What::Consume, "consume the backlog, events/s", "consume_per_second"),
    (What::Both, "publish and consume at once, events/s", "both_per_second"),
    (What::Deliveries, "deliveries to all groups, events/s", "deliveries_per_second"),
    (What::P50, "publish to handler p50, µs", "p50_us"),
    (What::P99, "publish to handler p99, µs", "p99_us"),
    (What::Open, "ready after a restart, ms", "open_ms"),
    (What::Metrics, "`/metrics`, ms", "metrics_ms"),
    (What::Lags, "`/lag`, ms", "lag_ms"),
    (What::GroupList, "`/groups`, ms", "groups_ms"),
    (What::ResidentAtRest, "memory after a restart, MB", "resident_at_rest_mb"),
    (What::Resident, "memory after the load, MB", "resident_mb"),
    (What::ResidentAfterLists, "memory after these lists, MB", "resident_after_lists_mb"),
    (What::EachConnection, "memory of each connection, KB", "connection_kb"),
    (What::Disk, "on disk, MB", "disk_mb"),
];

pub type Figures = Vec<(What, f64)>;

pub struct Point {
    pub size: u64,
    pub figures: Figures,
}

impl Point {
    pub fn of(&self, what: What) -> Option<f64> {
        self.figures.iter().find(|(found, _)| *found == what).map(|(_, value)| *value)
    }
}

/// A hub and how it is measured.
pub struct Scene {
    hub: HubContender,
    pub server: Server,
    pub spans: Spans,
    rounds: usize,
    groups: u32,
}

impl Scene {
    pub async fn start(hub: HubContender, dir: PathBuf, args: &GrowthArgs) -> anyhow::Result<Self> {
        let milliseconds = |warm_up, measured| Spans {
            warm_up: Duration::from_millis(warm_up),
            measured: Duration::from_millis(measured),
        };
        let spans = args.measure.full_or_quick(milliseconds(500, 1_500), milliseconds(200, 400));
        Ok(Self { server: hub.start(dir).await?, hub, spans, rounds: args.rounds, groups: 0 })
    }

    pub async fn publish(&self, topics: Topics) -> anyhow::Result<f64> {
        let what = Publishing { topics, ..Publishing::USUAL };
        let mut rates = Vec::new();
        for _ in 0..self.rounds {
            rates.push(publish::rate(&self.server, what, self.spans).await?);
        }
        Ok(Summary::median_of(&rates))
    }

    /// By a new group that begins at the end.
    pub async fn both(&mut self, topics: Topics) -> anyhow::Result<f64> {
        let mut rates = Vec::new();
        for _ in 0..self.rounds {
            self.join_a_new_group(Position::Latest);
            rates.push(both::rate(&self.server, MEMBERS, topics, PAYLOAD_BYTES, self.spans).await?);
        }
        Ok(Summary::median_of(&rates))
    }

    /// p50 and p99 in microseconds, by a new group that begins at the end.
    pub async fn latency(&mut self) -> anyhow::Result<[(What, f64); 2]> {
        let (mut p50, mut p99) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            self.join_a_new_group(Position::Latest);
            let measured = LATENCY.min(self.spans.measured * 2);
            let latencies = latency::latencies(&self.server, PAYLOAD_BYTES, self.spans.warm_up, measured).await?;
            p50.push(latencies.p50_ms() * 1e3);
            p99.push(latencies.p99_ms() * 1e3);
        }
        Ok([(What::P50, Summary::median_of(&p50)), (What::P99, Summary::median_of(&p99))])
    }

    /// How long the hub took to be ready again, and what it takes then.
    pub async fn reopen(&mut self) -> anyhow::Result<[(What, f64); 2]> {
        let mut open = Vec::new();
        for _ in 0..self.rounds {
            self.server.restart().await?;
            open.push(self.server.process()?.ready_ms);
        }
        Ok([(What::Open, Summary::median_of(&open)), (What::ResidentAtRest, self.server.process()?.resident_mb()?)])
    }

    pub fn resident(&self) -> anyhow::Result<(What, f64)> {
        Ok((What::Resident, self.server.process()?.resident_mb()?))
    }

    pub fn join_a_new_group(&mut self, from: Position) {
        self.groups += 1;
        let group = format!("growth{}", self.groups);
        self.server.contender = Arc::new(HubContender { group, from, ..self.hub.clone() });
    }
}
