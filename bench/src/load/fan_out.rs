//! One publisher, many live readers that each get everything. The clock stops when the last reader has the last event.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use prom_load::{ConsumeJob, PublishJob, Sharing};
use prom_types::Position;

use super::consume;
use super::crew::Crew;
use super::publish;
use super::server::Server;
use super::topics::Topics;

/// Few: the readers are the load.
const IN_FLIGHT: usize = 100;
const PATIENCE: Duration = Duration::from_secs(60);

/// Deliveries per second, of this many events to this many readers.
pub async fn rate(server: &Server, payload_bytes: usize, readers: usize, events: u64) -> anyhow::Result<f64> {
    let topics = Topics::ONE;
    server.make(&topics).await?;
    let read = Arc::new(ConsumeJob::new(payload_bytes, Sharing::Each, events));
    let mut connected = Vec::with_capacity(readers);
    for _ in 0..readers {
        connected.push(server.tail(&topics, Position::Latest).await?);
    }
    let mut crew = Crew::default();
    for tail in connected {
        crew.add(tail.run(read.clone()));
    }
    let published = Arc::new(PublishJob::new(payload_bytes, topics.count, events).with_in_flight(IN_FLIGHT));
    let begun = Instant::now();
    let mut publisher = publish::start(server, 1, &topics, &published).await?;
    crew.during(publisher.finish()).await??;
    let finished = tokio::time::timeout(PATIENCE, crew.finish()).await;
    let seconds = begun.elapsed().as_secs_f64();
    let deliveries = events * readers as u64;
    finished.with_context(|| format!("not done after {PATIENCE:?}: {} of {deliveries}", read.fresh_so_far()))??;
    check_complete(&read, events)?;
    Ok(deliveries as f64 / seconds)
}

/// Every reader got each event once.
pub fn check_complete(job: &ConsumeJob, events: u64) -> anyhow::Result<()> {
    consume::check(job)?;
    let missing = job.missing(events, &[]);
    ensure!(missing == 0, "{missing} deliveries of {events} events to each reader are missing");
    Ok(())
}
