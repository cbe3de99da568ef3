//! A group that reads everything that was published from the beginning and acks every event.

use std::collections::VecDeque;
use std::time::Instant;

use promethean::Position;

use super::scene::{Scene, TOPIC};

const BATCH: usize = 1_000;
const LEASED: usize = 20_000;
/// Batches of acks on their way.
const ACKS_WAITING: usize = 16;
/// Enough to measure, however fast publishing was.
const MOST_EVENTS: u64 = 300_000;

pub async fn rate(scene: &Scene) -> anyhow::Result<f64> {
    let end = scene.bus.read(TOPIC, 0, 0, 1).await?.bounds.next.min(MOST_EVENTS);
    let started = Instant::now();
    let group = scene.bus.subscribe(TOPIC, "bench").from(Position::Earliest).batch_size(BATCH).max_in_flight(LEASED);
    let mut events = group.start().await?;
    let mut acks = VecDeque::new();
    let mut acked = 0;
    while acked < end {
        let batch = events.next_batch().await;
        anyhow::ensure!(!batch.is_empty(), "the subscription ended");
        acked += batch.len() as u64;
        acks.push_back(tokio::spawn(promethean::ack_all(batch)));
        if acks.len() >= ACKS_WAITING
            && let Some(oldest) = acks.pop_front()
        {
            oldest.await??;
        }
    }
    for ack in acks {
        ack.await??;
    }
    let rate = acked as f64 / started.elapsed().as_secs_f64();
    events.unsubscribe().await;
    Ok(rate)
}
