//! Publishing as fast as the receipts come back.

use std::time::{Duration, Instant};

use promethean::Bus;

use crate::bus_load::{Publishers, Waiting, event, sum};

/// More publishers than processors only wait for each other.
const PUBLISHERS: usize = 2;
/// One publisher is enough for fewer in flight than this.
const SHARED_FROM: usize = 500;

pub fn publishers(in_flight: usize) -> Publishers {
    Publishers { count: if in_flight < SHARED_FROM { 1 } else { PUBLISHERS }, in_flight }
}

/// Receipts per second with this many events in flight, handed over `gathered` at a time.
pub async fn rate_gathered(bus: &Bus, in_flight: usize, gathered: usize, span: Duration) -> anyhow::Result<f64> {
    let started = Instant::now();
    let publisher = |_| publish_gathered(bus.clone(), in_flight / PUBLISHERS, gathered, span);
    let published = sum((0..PUBLISHERS).map(publisher)).await?;
    Ok(published as f64 / started.elapsed().as_secs_f64())
}

async fn publish_gathered(bus: Bus, in_flight: usize, gathered: usize, span: Duration) -> anyhow::Result<u64> {
    let event = event()?;
    let mut waiting = Waiting::at_most(in_flight.div_ceil(gathered));
    let started = Instant::now();
    let mut published = 0;
    while started.elapsed() < span {
        let mut work = bus.unit_of_work();
        for _ in 0..gathered {
            work.publish(&event)?;
        }
        if let Some(receipts) = waiting.push(work.commit_each()).await {
            published += receipts?.len() as u64;
        }
    }
    for receipts in waiting.rest() {
        published += receipts.await?.len() as u64;
    }
    Ok(published)
}
