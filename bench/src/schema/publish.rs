//! Publishing heartbeats: where nothing has a schema, where only other topics have one, and where the topic has one.

use std::time::{Duration, Instant};

use futures::FutureExt;
use prom_types::NewEvent;
use promethean::Bus;

use super::heartbeat::{Heartbeat, candidate, register};
use crate::bus_load::{keep_going, sum};
use crate::embedded_bus::EmbeddedBus;
use crate::work_dir::WorkDir;

const PUBLISHERS: usize = 2;
const IN_FLIGHT: usize = 1_000;
/// Handed over together, as a gateway does.
const GATHERED: usize = 100;
const OTHER_TOPICS: usize = 1_000;

/// Events per second, one value for each round.
#[derive(Default)]
pub struct Rounds {
    pub empty: Vec<f64>,
    pub among: Vec<f64>,
    pub judged: Vec<f64>,
}

impl Rounds {
    /// The three take turns, so that all meet the same disk.
    pub async fn measure(work_dir: &WorkDir, rounds: usize, span: Duration) -> anyhow::Result<Self> {
        eprintln!("  publishing without and with a schema, beside {OTHER_TOPICS} others");
        let empty = EmbeddedBus::open_at(&work_dir.fresh("empty")?).await?;
        let among = EmbeddedBus::open_at(&work_dir.fresh("among")?).await?;
        for number in 0..OTHER_TOPICS {
            among.bus.register_schema(&format!("other.topic{number}"), candidate(1)?).await?;
        }
        let judged = EmbeddedBus::open_at(&work_dir.fresh("judged")?).await?;
        register(&judged.bus, 1..=1).await?;
        let mut rates = Self::default();
        for round in 0..rounds {
            eprintln!("    round {} of {rounds}", round + 1);
            rates.empty.push(rate(&empty.bus, span).await?);
            rates.among.push(rate(&among.bus, span).await?);
            rates.judged.push(rate(&judged.bus, span).await?);
        }
        for ours in [empty, among, judged] {
            ours.close().await?;
        }
        Ok(rates)
    }
}

async fn rate(bus: &Bus, span: Duration) -> anyhow::Result<f64> {
    let publisher = |_| publish(bus.clone(), span);
    let started = Instant::now();
    let published = sum((0..PUBLISHERS).map(publisher)).await?;
    Ok(published as f64 / started.elapsed().as_secs_f64())
}

async fn publish(bus: Bus, span: Duration) -> anyhow::Result<u64> {
    let event = Heartbeat::numbered(7).event(1)?;
    keep_going(IN_FLIGHT / PUBLISHERS / GATHERED, span, || {
        let mut work = bus.unit_of_work();
        for _ in 0..GATHERED {
            work.publish(&event)?;
        }
        Ok(work.commit_each().map(|receipts| Ok(receipts?.len() as u64)))
    })
    .await
}

/// Publishes these as fast as they are taken.
pub async fn publish_all(bus: &Bus, events: impl Iterator<Item = anyhow::Result<NewEvent>>) -> anyhow::Result<()> {
    let mut waiting = std::collections::VecDeque::new();
    let mut events = events.peekable();
    while events.peek().is_some() {
        let batch = events.by_ref().take(1_000).collect::<anyhow::Result<Vec<_>>>()?;
        waiting.push_back(bus.publish_batch(batch));
        if waiting.len() >= 4
            && let Some(oldest) = waiting.pop_front()
        {
            oldest.await?;
        }
    }
    for batch in waiting {
        batch.await?;
    }
    Ok(())
}
