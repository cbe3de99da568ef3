//! Reading a log from its beginning after a restart, with nothing of it in memory: what a new reader waits for.

use std::sync::Arc;
use std::time::Instant;

use prom_load::{ConsumeJob, Sharing};
use prom_types::Position;

use super::crew::Crew;
use super::fan_out::check_complete;
use super::server::Server;
use super::topics::Topics;

/// Events per second of a log that holds this many. The server must have just been restarted.
pub async fn rate(server: &Server, payload_bytes: usize, events: u64) -> anyhow::Result<f64> {
    let job = Arc::new(ConsumeJob::new(payload_bytes, Sharing::Each, events));
    let begun = Instant::now();
    let tail = server.tail(&Topics::ONE, Position::Earliest).await?;
    let mut crew = Crew::default();
    crew.add(tail.run(job.clone()));
    crew.finish().await?;
    let seconds = begun.elapsed().as_secs_f64();
    check_complete(&job, events)?;
    Ok(events as f64 / seconds)
}
