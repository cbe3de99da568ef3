//! Publishing and consuming at once. The clock stops when the last event is settled.

use std::sync::Arc;
use std::time::Instant;

use anyhow::ensure;

use super::consume;
use super::consume_job::{Clocked, ConsumeJob};
use super::contender::Server;
use super::publish;
use super::publish_job::PublishJob;
use super::rate::Spans;
use super::topics::Topics;

/// More than any server takes in a measurement.
const NUMBERS: u64 = 1 << 24;

/// Events per second that were published, delivered and settled.
pub async fn rate(
    server: &dyn Server,
    members: usize,
    topics: Topics,
    payload_bytes: usize,
    spans: Spans,
) -> anyhow::Result<f64> {
    server.make(&topics).await?;
    let published = Arc::new(PublishJob::of(payload_bytes, topics.count, NUMBERS));
    let consumed = Arc::new(ConsumeJob::new(NUMBERS, u64::MAX, Clocked::No));
    // The group is there before the first event.
    let mut consumers = consume::start(server, members, &topics, &consumed).await?;
    let mut publishers = publish::start(server, publish::CONNECTIONS, &topics, &published).await?;

    publishers.during(consumers.during(tokio::time::sleep(spans.warm_up))).await??;
    let (begun, settled) = (Instant::now(), settled_by(&consumed));
    publishers.during(consumers.during(tokio::time::sleep(spans.measured))).await??;
    published.stop();
    consumers.during(publishers.finish()).await??;
    consumed.expect(published.published());
    let seconds = consumers.during(consumed.over()).await?.duration_since(begun).as_secs_f64();

    consumers.finish().await?;
    consumed.sound()?;
    let (wanted, got) = (published.published(), consumed.distinct());
    ensure!(got == wanted, "{got} of {wanted} events were consumed");
    Ok((settled_by(&consumed) - settled) as f64 / seconds)
}

fn settled_by(job: &ConsumeJob) -> u64 {
    job.settled_so_far().load(std::sync::atomic::Ordering::Relaxed)
}
