//! Publishing as fast as the receipts come back, one event at a time, many on their way.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use promethean::Bus;

use super::scene::event;

const PUBLISHERS: usize = 2;
const IN_FLIGHT: usize = 10_000;

pub async fn rate(bus: &Bus, span: Duration) -> anyhow::Result<f64> {
    all(bus, span / 4).await?;
    let started = Instant::now();
    let published = all(bus, span).await?;
    Ok(published as f64 / started.elapsed().as_secs_f64())
}

async fn all(bus: &Bus, span: Duration) -> anyhow::Result<u64> {
    let publishers: Vec<_> = (0..PUBLISHERS).map(|_| tokio::spawn(publish(bus.clone(), span))).collect();
    let mut published = 0;
    for publisher in publishers {
        published += publisher.await??;
    }
    Ok(published)
}

async fn publish(bus: Bus, span: Duration) -> anyhow::Result<u64> {
    let event = event()?;
    let mut waiting = VecDeque::with_capacity(IN_FLIGHT / PUBLISHERS);
    let started = Instant::now();
    let mut published = 0;
    while started.elapsed() < span {
        waiting.push_back(bus.publish_event(event.clone()));
        if waiting.len() >= IN_FLIGHT / PUBLISHERS
            && let Some(oldest) = waiting.pop_front()
        {
            oldest.await?;
            published += 1;
        }
    }
    for receipt in waiting {
        receipt.await?;
        published += 1;
    }
    Ok(published)
}
