//! A backlog for others to read. How long filling takes is not a figure, so durability may rest meanwhile.

use std::sync::Arc;

use anyhow::ensure;
use prom_load::PublishJob;

use super::consume::Backlog;
use super::publish;
use super::server::Server;

pub async fn fill(server: &mut Server, backlog: Backlog) -> anyhow::Result<()> {
    let Backlog { topics, payload_bytes, events } = backlog;
    server.loosen().await?;
    server.make(&topics).await?;
    let job = Arc::new(PublishJob::new(payload_bytes, topics.count, events));
    publish::start(server, publish::CONNECTIONS, &topics, &job).await?.finish().await?;
    let acked = job.acked_so_far();
    ensure!(acked == events, "{acked} of {events} events were acknowledged");
    server.tighten().await
}
