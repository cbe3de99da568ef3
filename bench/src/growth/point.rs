//! The figures at one size, and the verbs that give them.

use std::time::Duration;

use crate::args::GrowthArgs;
use crate::load::contender::{From, Server};
use crate::load::publish::{self, PAYLOAD_BYTES, Publishing};
use crate::load::rate::Spans;
use crate::load::topics::Topics;
use crate::load::{both, latency};
use crate::ours::HubServer;
use crate::summary::Summary;

/// Of the group that consumes.
pub const MEMBERS: usize = 1;
const LATENCY: Duration = Duration::from_secs(2);

/// What is told of each size. Not every axis has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Publish,
    Consume,
    Both,
    Deliveries,
    P50,
    P99,
    Open,
    Resident,
    ResidentAtRest,
    EachConnection,
    Disk,
}

/// In the order of the tables.
pub const EVERYTHING: [What; 11] = [
    What::Publish,
    What::Consume,
    What::Both,
    What::Deliveries,
    What::P50,
    What::P99,
    What::Open,
    What::ResidentAtRest,
    What::Resident,
    What::EachConnection,
    What::Disk,
];

impl What {
    pub fn title(self) -> &'static str {
        match self {
            Self::Publish => "publish, events/s",
            Self::Consume => "consume the backlog, events/s",
            Self::Both => "publish and consume at once, events/s",
            Self::Deliveries => "deliveries to all groups, events/s",
            Self::P50 => "publish to handler p50, µs",
            Self::P99 => "publish to handler p99, µs",
            Self::Open => "ready after a restart, ms",
            Self::Resident => "memory after the load, MB",
            Self::ResidentAtRest => "memory after a restart, MB",
            Self::EachConnection => "memory of each connection, KB",
            Self::Disk => "on disk, MB",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Publish => "publish_per_second",
            Self::Consume => "consume_per_second",
            Self::Both => "both_per_second",
            Self::Deliveries => "deliveries_per_second",
            Self::P50 => "p50_us",
            Self::P99 => "p99_us",
            Self::Open => "open_ms",
            Self::Resident => "resident_mb",
            Self::ResidentAtRest => "resident_at_rest_mb",
            Self::EachConnection => "connection_kb",
            Self::Disk => "disk_mb",
        }
    }
}

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
    pub server: HubServer,
    pub spans: Spans,
    rounds: usize,
    groups: u32,
}

impl Scene {
    pub fn new(server: HubServer, args: &GrowthArgs) -> Self {
        let milliseconds = |warm_up, measured| Spans {
            warm_up: Duration::from_millis(warm_up),
            measured: Duration::from_millis(measured),
        };
        let spans = args.measure.full_or_quick(milliseconds(500, 1_500), milliseconds(200, 400));
        Self { server, spans, rounds: args.rounds, groups: 0 }
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
            self.join_a_new_group(From::Latest);
            rates.push(both::rate(&self.server, MEMBERS, topics, PAYLOAD_BYTES, self.spans).await?);
        }
        Ok(Summary::median_of(&rates))
    }

    /// p50 and p99 in microseconds, by a new group that begins at the end.
    pub async fn latency(&mut self) -> anyhow::Result<[(What, f64); 2]> {
        let (mut p50, mut p99) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            self.join_a_new_group(From::Latest);
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
            open.push(self.server.hub()?.ready_ms);
        }
        Ok([(What::Open, Summary::median_of(&open)), (What::ResidentAtRest, self.server.hub()?.resident_mb()?)])
    }

    pub fn resident(&self) -> anyhow::Result<(What, f64)> {
        Ok((What::Resident, self.server.hub()?.resident_mb()?))
    }

    pub fn join_a_new_group(&mut self, from: From) {
        self.groups += 1;
        self.server.join(&format!("growth{}", self.groups), from);
    }

    pub async fn stop(self) -> anyhow::Result<()> {
        Box::new(self.server).stop().await
    }
}
