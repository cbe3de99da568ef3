//! Reading a log from its beginning after a restart, with nothing of it in memory: what a new reader waits for.

use std::sync::Arc;
use std::time::Instant;

use super::contender::{From, Server};
use super::crew::Crew;
use super::tail_job::TailJob;
use super::topics::Topics;

/// Events per second of a log that holds so many. The server must have just been restarted.
pub async fn rate(server: &dyn Server, events: u64) -> anyhow::Result<f64> {
    let job = Arc::new(TailJob::new(events));
    let begun = Instant::now();
    let tail = server.tail(&Topics::ONE, From::Earliest).await?;
    let mut crew = Crew::default();
    crew.add(tail.run(job.clone()));
    crew.finish().await?;
    Ok(job.received() as f64 / begun.elapsed().as_secs_f64())
}
