//! Publishing as fast as receipts come back.

use std::sync::Arc;

use prom_load::PublishJob;

use super::crew::Crew;
use super::rate::{self, Spans};
use super::server::Server;
use super::topics::Topics;

/// Connections of a plain publish and of a fill.
pub const CONNECTIONS: usize = 2;

/// A load of publishers.
#[derive(Debug, Clone, Copy)]
pub struct Publishing {
    pub connections: usize,
    /// Of all connections together; `None`: the usual window on each.
    pub in_flight: Option<usize>,
    pub topics: Topics,
    pub payload_bytes: usize,
}

/// Of a payload, unless a measurement says otherwise.
pub const PAYLOAD_BYTES: usize = 256;

impl Publishing {
    /// Two connections with their usual window, one topic.
    pub const USUAL: Self =
        Self { connections: CONNECTIONS, in_flight: None, topics: Topics::ONE, payload_bytes: PAYLOAD_BYTES };
}

/// Acknowledged events per second.
pub async fn rate(server: &Server, what: Publishing, spans: Spans) -> anyhow::Result<f64> {
    server.make(&what.topics).await?;
    touch_all(server, what).await?;
    let mut job = PublishJob::endless(what.payload_bytes, what.topics.count);
    if let Some(in_flight) = what.in_flight {
        job = job.with_in_flight(in_flight / what.connections);
    }
    let job = Arc::new(job);
    let mut crew = start(server, what.connections, &what.topics, &job).await?;
    let rate = crew.during(rate::of_counter(job.acked_counter(), spans)).await?;
    job.stop();
    crew.finish().await?;
    Ok(rate)
}

/// Gives each of many topics its first event before the clock runs: making topics is another figure.
async fn touch_all(server: &Server, what: Publishing) -> anyhow::Result<()> {
    if what.topics.count > 1 {
        let job = Arc::new(PublishJob::new(what.payload_bytes, what.topics.count, what.topics.count as u64));
        start(server, 1, &what.topics, &job).await?.finish().await?;
    }
    Ok(())
}

/// Connections that do the job together.
pub async fn start(
    server: &Server,
    connections: usize,
    topics: &Topics,
    job: &Arc<PublishJob>,
) -> anyhow::Result<Crew> {
    let mut publishers = Vec::with_capacity(connections);
    for _ in 0..connections {
        publishers.push(server.publisher(topics).await?);
    }
    let mut crew = Crew::default();
    for publisher in publishers {
        crew.add(publisher.run(job.clone()));
    }
    Ok(crew)
}
