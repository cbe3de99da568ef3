//! Publishing and consuming at once. The clock stops when the last event is settled.

use std::sync::Arc;
use std::time::Instant;

use anyhow::ensure;
use prom_load::{ConsumeJob, PublishJob, Sharing};

use super::consume;
use super::publish;
use super::rate::Spans;
use super::server::Server;
use super::topics::Topics;

/// Events per second that were published, delivered and settled.
pub async fn rate(
    server: &Server,
    members: usize,
    topics: Topics,
    payload_bytes: usize,
    spans: Spans,
) -> anyhow::Result<f64> {
    server.make(&topics).await?;
    let published = Arc::new(PublishJob::endless(payload_bytes, topics.count));
    let consumed = Arc::new(ConsumeJob::new(payload_bytes, Sharing::Group, u64::MAX));
    // The group is there before the first event.
    let mut consumers = consume::start(server, members, &topics, &consumed).await?;
    let mut publishers = publish::start(server, publish::CONNECTIONS, &topics, &published).await?;

    publishers.during(consumers.during(tokio::time::sleep(spans.warm_up))).await??;
    let (begun, settled) = (Instant::now(), consumed.settled_so_far());
    publishers.during(consumers.during(tokio::time::sleep(spans.measured))).await??;
    published.stop();
    consumers.during(publishers.finish()).await??;
    let wanted = published.acked_so_far();
    consumed.expect(wanted);
    let seconds = consumers.during(consumed.over()).await?.duration_since(begun).as_secs_f64();

    consumers.finish().await?;
    let got = consume::check(&consumed)?.fresh;
    ensure!(got == wanted, "{got} of {wanted} events were consumed");
    Ok((consumed.settled_so_far() - settled) as f64 / seconds)
}
