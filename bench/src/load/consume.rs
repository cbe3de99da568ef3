//! Consuming a backlog in a group, with an ack for every event.

use std::sync::Arc;

use anyhow::ensure;
use prom_load::{ConsumeJob, Consumed, Sharing};

use super::crew::Crew;
use super::rate::{self, Spans};
use super::server::Server;
use super::topics::Topics;

/// What there is to consume.
#[derive(Debug, Clone, Copy)]
pub struct Backlog {
    pub topics: Topics,
    pub payload_bytes: usize,
    pub events: u64,
}

/// Settled events per second, by this many members.
pub async fn rate(server: &Server, members: usize, backlog: Backlog, spans: Spans) -> anyhow::Result<f64> {
    let job = Arc::new(ConsumeJob::new(backlog.payload_bytes, Sharing::Group, backlog.events));
    let mut crew = start(server, members, &backlog.topics, &job).await?;
    let rate = crew.during(rate::of_counter_until(job.settled_counter(), spans, job.over())).await?;
    job.stop();
    crew.finish().await?;
    let (settled, fresh) = (job.settled_so_far(), check(&job)?.fresh);
    ensure!(settled > 0, "nothing was consumed");
    ensure!(settled <= fresh, "{settled} were settled of {fresh} that arrived");
    Ok(rate)
}

/// Members of a group, each with a connection, that do the job together.
pub async fn start(server: &Server, members: usize, topics: &Topics, job: &Arc<ConsumeJob>) -> anyhow::Result<Crew> {
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

/// What arrived, if each event did so once and unchanged and every ack was accepted. Ask when all consumers have ended.
pub fn check(job: &ConsumeJob) -> anyhow::Result<Consumed> {
    let consumed = job.consumed();
    let (repeated, harmed) = (consumed.repeated, consumed.harmed);
    ensure!(repeated == 0, "{repeated} events were delivered twice");
    ensure!(harmed == 0, "{harmed} events arrived that were not sent in this measurement");
    if let Some(failure) = job.failures().list().first() {
        anyhow::bail!("{} events could not be settled: {}", failure.count, failure.message);
    }
    Ok(consumed)
}
