//! Consuming a backlog in a group, with an ack for every event.

use std::sync::Arc;

use anyhow::ensure;

use super::consume_job::{Clocked, ConsumeJob};
use super::contender::Server;
use super::crew::Crew;
use super::rate::{self, Spans};
use super::topics::Topics;

/// Settled events per second, by so many members, of a backlog of so many events.
pub async fn rate(
    server: &dyn Server,
    members: usize,
    topics: &Topics,
    backlog: u64,
    spans: Spans,
) -> anyhow::Result<f64> {
    let job = Arc::new(ConsumeJob::new(backlog, backlog, Clocked::No));
    let mut crew = start(server, members, topics, &job).await?;
    let rate = crew.during(rate::of_counter_until(job.settled_so_far(), spans, job.over())).await?;
    job.stop();
    crew.finish().await?;
    job.sound()?;
    let (settled, distinct) = (job.settled_so_far().load(std::sync::atomic::Ordering::Relaxed), job.distinct());
    ensure!(settled > 0, "nothing was consumed");
    ensure!(settled <= distinct, "{settled} were settled of {distinct} that arrived");
    Ok(rate)
}

/// So many members, each with a connection, that do the job together.
pub async fn start(
    server: &dyn Server,
    members: usize,
    topics: &Topics,
    job: &Arc<ConsumeJob>,
) -> anyhow::Result<Crew> {
    let mut joined = Vec::with_capacity(members);
    for _ in 0..members {
        joined.push(server.consumer(topics).await?);
    }
    let mut crew = Crew::default();
    for member in joined {
        crew.add(member.run(job.clone()));
    }
    Ok(crew)
}
