//! A group that reads everything that was published from the beginning and acks every event.

use std::time::Instant;

use promethean::Position;

use super::mongo_bus::MongoBus;
use crate::bus_load::{Acks, BATCH, LEASED, TOPIC};

/// Enough to measure, however fast publishing was.
const MOST_EVENTS: u64 = 300_000;

pub async fn rate(on: &MongoBus) -> anyhow::Result<f64> {
    let end = on.bus.read(TOPIC, 0, 0, 1).await?.bounds.next.min(MOST_EVENTS);
    let started = Instant::now();
    let group = on.bus.subscribe(TOPIC, "bench").from(Position::Earliest).batch_size(BATCH).max_in_flight(LEASED);
    let mut events = group.start().await?;
    let (mut acks, mut acked) = (Acks::new(), 0);
    while acked < end {
        let batch = events.next_batch().await;
        anyhow::ensure!(!batch.is_empty(), "the subscription ended");
        acked += batch.len() as u64;
        acks.ack(batch).await?;
    }
    acks.finish().await?;
    let rate = acked as f64 / started.elapsed().as_secs_f64();
    events.unsubscribe().await;
    Ok(rate)
}
