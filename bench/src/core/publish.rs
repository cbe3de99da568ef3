//! Publishing as fast as the receipts come back.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use promethean::Bus;

use super::scene::event;

/// Publishers share what may be in flight; more of them than processors only wait for each other.
const PUBLISHERS: usize = 2;
/// Fewer in flight than this are left to one.
const SHARED_FROM: usize = 500;

/// Receipts per second with so many events in flight.
pub async fn rate(bus: &Bus, in_flight: usize, span: Duration) -> anyhow::Result<f64> {
    run(bus, in_flight, span / 4).await?;
    let started = Instant::now();
    let published = run(bus, in_flight, span).await?;
    Ok(published as f64 / started.elapsed().as_secs_f64())
}

/// As [`rate`], with as many events in flight, handed over so many at a time.
pub async fn rate_gathered(bus: &Bus, in_flight: usize, gathered: usize, span: Duration) -> anyhow::Result<f64> {
    let started = Instant::now();
    let publishers: Vec<_> = (0..PUBLISHERS)
        .map(|_| tokio::spawn(publish_gathered(bus.clone(), in_flight / PUBLISHERS, gathered, span)))
        .collect();
    let mut published = 0;
    for publisher in publishers {
        published += publisher.await??;
    }
    Ok(published as f64 / started.elapsed().as_secs_f64())
}

async fn publish_gathered(bus: Bus, in_flight: usize, gathered: usize, span: Duration) -> anyhow::Result<u64> {
    let event = event()?;
    let mut waiting = VecDeque::new();
    let started = Instant::now();
    let mut published = 0;
    while started.elapsed() < span {
        let mut work = bus.unit_of_work();
        for _ in 0..gathered {
            work.publish(&event)?;
        }
        waiting.push_back(work.commit_each());
        if waiting.len() * gathered >= in_flight
            && let Some(oldest) = waiting.pop_front()
        {
            published += oldest.await?.len() as u64;
        }
    }
    for receipts in waiting {
        published += receipts.await?.len() as u64;
    }
    Ok(published)
}

/// Publishes for so long and waits for the last receipt; how many there were.
pub async fn run(bus: &Bus, in_flight: usize, span: Duration) -> anyhow::Result<u64> {
    let number = if in_flight < SHARED_FROM { 1 } else { PUBLISHERS };
    let publishers: Vec<_> =
        (0..number).map(|_| tokio::spawn(publish(bus.clone(), in_flight / number, span))).collect();
    let mut published = 0;
    for publisher in publishers {
        published += publisher.await??;
    }
    Ok(published)
}

async fn publish(bus: Bus, in_flight: usize, span: Duration) -> anyhow::Result<u64> {
    let event = event()?;
    let mut waiting = VecDeque::with_capacity(in_flight);
    let started = Instant::now();
    let mut published = 0;
    while started.elapsed() < span {
        waiting.push_back(bus.publish_event(event.clone()));
        if waiting.len() >= in_flight
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
