//! From publish to handler at a fixed pace, with the load open: an event that is late does not delay the next, and each
//! is timed from when it should have been sent.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use prom_load::pace::{self, Schedule};
use prom_load::{ConsumeJob, Latencies, PayloadLabel, PublishJob, Sharing};
use tokio::runtime::Handle;

use super::consume;
use super::contender::Publisher;
use super::server::Server;
use super::topics::Topics;

pub const EVENTS_PER_SECOND: u64 = 1_000;
/// After the last event was sent, nothing takes longer than this.
const PATIENCE: Duration = Duration::from_secs(20);

/// One publisher, one subscriber; the latencies of events after the warm-up.
pub async fn latencies(
    server: &Server,
    payload_bytes: usize,
    warm_up: Duration,
    measured: Duration,
) -> anyhow::Result<Latencies> {
    let topics = Topics::ONE;
    server.make(&topics).await?;
    let untimed = Schedule::events_in(EVENTS_PER_SECOND, warm_up);
    let total = untimed + Schedule::events_in(EVENTS_PER_SECOND, measured);
    let consumed = Arc::new(ConsumeJob::new(payload_bytes, Sharing::Group, total));
    let mut consumer = consume::start(server, 1, &topics, &consumed).await?;
    let publisher = server.publisher(&topics).await?;
    let published = PublishJob::new(payload_bytes, topics.count, total);

    consumer.during(publish(publisher, published, untimed)).await??;
    let over = tokio::time::timeout(PATIENCE, consumer.during(consumed.over())).await;
    over.with_context(|| format!("{} of {total} events arrived", consumed.fresh_so_far()))??;
    consumer.finish().await?;
    let consumed = consume::check(&consumed)?;
    ensure!(consumed.fresh == total, "{} of {total} events arrived", consumed.fresh);
    Ok(consumed.latencies)
}

async fn publish(mut publisher: Box<dyn Publisher>, job: PublishJob, untimed: u64) -> anyhow::Result<()> {
    let runtime = Handle::current();
    let paced = tokio::task::spawn_blocking(move || {
        let mut sent = Ok(());
        pace::run(&job, Schedule::per_second(EVENTS_PER_SECOND), |number, due| {
            let is_timed = number >= untimed;
            let label = if is_timed { PayloadLabel::due(number, due) } else { PayloadLabel::untimed(number) };
            sent = runtime.block_on(publisher.send(&job, label));
            sent.is_ok()
        });
        sent.map(|()| publisher)
    });
    paced.await.context("the pacer has ended")??.acknowledged().await
}
