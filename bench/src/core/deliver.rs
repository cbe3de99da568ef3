//! Publish, dispatch and ack at once: the clock stops when the last event is settled durably.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use promethean::{Bus, Position};

use super::{publish, scene::TOPIC};

const IN_FLIGHT: usize = 1_000;
const BATCH: usize = 1_000;
const LEASED: usize = 20_000;
/// Batches of acks on their way.
const ACKS_WAITING: usize = 16;

pub async fn rate(bus: &Bus, span: Duration) -> anyhow::Result<f64> {
    publish::run(bus, IN_FLIGHT, Duration::from_millis(1)).await?;
    let mut events =
        bus.subscribe(TOPIC, "bench").from(Position::Latest).batch_size(BATCH).max_in_flight(LEASED).start().await?;
    let started = Instant::now();
    let publisher = {
        let bus = bus.clone();
        tokio::spawn(async move { publish::run(&bus, IN_FLIGHT, span).await })
    };
    let consumer = tokio::spawn(async move {
        let mut acks = VecDeque::new();
        let mut acked = 0;
        let mut wanted = u64::MAX;
        let mut publisher = publisher;
        while acked < wanted {
            tokio::select! {
                biased;
                done = &mut publisher, if wanted == u64::MAX => wanted = done??,
                batch = events.next_batch() => {
                    acked += batch.len() as u64;
                    acks.push_back(tokio::spawn(promethean::ack_all(batch)));
                    if acks.len() >= ACKS_WAITING && let Some(oldest) = acks.pop_front() {
                        oldest.await??;
                    }
                }
            }
        }
        for ack in acks {
            ack.await??;
        }
        anyhow::Ok(acked)
    });
    let acked = consumer.await??;
    Ok(acked as f64 / started.elapsed().as_secs_f64())
}
