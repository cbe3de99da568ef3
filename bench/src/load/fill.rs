//! A backlog for others to read. How long filling takes is not a figure, so durability rests meanwhile.

use std::sync::Arc;

use anyhow::ensure;

use super::contender::Server;
use super::publish;
use super::publish_job::PublishJob;
use super::topics::Topics;

pub async fn fill(server: &mut dyn Server, topics: &Topics, payload_bytes: usize, events: u64) -> anyhow::Result<()> {
    server.loosen().await?;
    server.make(topics).await?;
    let job = Arc::new(PublishJob::of(payload_bytes, topics.count, events));
    publish::start(server, publish::CONNECTIONS, topics, &job).await?.finish().await?;
    ensure!(job.published() == events, "{} of {events} events were acknowledged", job.published());
    server.tighten().await
}
