//! Publishing as fast as the receipts come back.

use std::time::{Duration, Instant};

use futures::FutureExt;
use promethean::Bus;

use crate::bus_load::{Publishers, event, keep_going, sum};

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
    keep_going(in_flight.div_ceil(gathered), span, || {
        let mut work = bus.unit_of_work();
        for _ in 0..gathered {
            work.publish(&event)?;
        }
        Ok(work.commit_each().map(|receipts| Ok(receipts?.len() as u64)))
    })
    .await
}
