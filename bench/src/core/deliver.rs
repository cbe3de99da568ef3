//! Publish, dispatch and ack at once: the clock stops when the last event is settled durably.

use std::time::{Duration, Instant};

use promethean::{Bus, Position};

use super::publish::publishers;
use crate::bus_load::{Acks, BATCH, LEASED, TOPIC};

const IN_FLIGHT: usize = 1_000;

pub async fn rate(bus: &Bus, span: Duration) -> anyhow::Result<f64> {
    publishers(IN_FLIGHT).run(bus, Duration::from_millis(1)).await?;
    let subscribe = bus.subscribe(TOPIC, "bench").from(Position::Latest);
    let mut events = subscribe.batch_size(BATCH).max_in_flight(LEASED).start().await?;
    let started = Instant::now();
    let publishing = bus.clone();
    let mut publisher = tokio::spawn(async move { publishers(IN_FLIGHT).run(&publishing, span).await });
    let consumer = tokio::spawn(async move {
        let (mut acks, mut acked, mut published) = (Acks::new(), 0, None);
        while published.is_none_or(|published| acked < published) {
            tokio::select! {
                biased;
                done = &mut publisher, if published.is_none() => published = Some(done??),
                batch = events.next_batch() => {
                    acked += batch.len() as u64;
                    acks.ack(batch).await?;
                }
            }
        }
        acks.finish().await?;
        anyhow::Ok(acked)
    });
    let acked = consumer.await??;
    Ok(acked as f64 / started.elapsed().as_secs_f64())
}
