//! Load on a bus in this process, without a client: what `core` and `mongo` have in common.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::FutureExt;
use prom_types::{Json, NewEvent, TopicName};
use promethean::{Bus, Delivery};

pub const TOPIC: &str = "bench.events";
const PAYLOAD_BYTES: usize = 256;
/// Batches of acks on their way.
const ACKS_WAITING: usize = 16;
/// Of a group's subscriber.
pub const BATCH: usize = 1_000;
pub const LEASED: usize = 20_000;

/// As clients send it: an object with a few members, 256 bytes in all.
pub fn payload() -> String {
    let begin =
        r#"{"order":"0192f0c1-7d3a-7000-8000-0123456789ab","customer":4711,"total":129.95,"currency":"EUR","note":""#;
    format!("{begin}{}\"}}", "n".repeat(PAYLOAD_BYTES - begin.len() - 2))
}

/// The event that is published over and over; cloning it copies no text.
pub fn event() -> anyhow::Result<NewEvent> {
    Ok(NewEvent::new(TopicName::parse(TOPIC)?, Json::parse(Bytes::from(payload()))?))
}

/// Publishers of one bus. They share what may be in flight.
#[derive(Debug, Clone, Copy)]
pub struct Publishers {
    pub count: usize,
    pub in_flight: usize,
}

impl Publishers {
    /// Receipts per second, after a warm-up.
    pub async fn rate(self, bus: &Bus, span: Duration) -> anyhow::Result<f64> {
        self.run(bus, span / 4).await?;
        let started = Instant::now();
        let published = self.run(bus, span).await?;
        Ok(published as f64 / started.elapsed().as_secs_f64())
    }

    /// Publishes during this time and waits for the last receipt; how many there were.
    pub async fn run(self, bus: &Bus, span: Duration) -> anyhow::Result<u64> {
        sum((0..self.count).map(|_| publish(bus.clone(), self.in_flight / self.count, span))).await
    }
}

async fn publish(bus: Bus, in_flight: usize, span: Duration) -> anyhow::Result<u64> {
    let event = event()?;
    keep_going(in_flight, span, || Ok(bus.publish_event(event.clone()).map(|receipt| Ok(receipt.map(|_| 1)?)))).await
}

/// Starts one after the other during this time, at most so many under way, and waits for all; what they add up to.
pub async fn keep_going<F: Future<Output = anyhow::Result<u64>>>(
    most: usize,
    span: Duration,
    mut start: impl FnMut() -> anyhow::Result<F>,
) -> anyhow::Result<u64> {
    let mut waiting = Waiting::at_most(most);
    let (started, mut done) = (Instant::now(), 0);
    while started.elapsed() < span {
        if let Some(one) = waiting.push(start()?).await {
            done += one?;
        }
    }
    for one in waiting.rest() {
        done += one.await?;
    }
    Ok(done)
}

/// Runs all of them at once and adds up what they did.
pub async fn sum<F: Future<Output = anyhow::Result<u64>> + Send + 'static>(
    work: impl Iterator<Item = F>,
) -> anyhow::Result<u64> {
    let running: Vec<_> = work.map(tokio::spawn).collect();
    let mut total = 0;
    for one in running {
        total += one.await??;
    }
    Ok(total)
}

/// Acks of batches, several on their way.
pub struct Acks(Waiting<tokio::task::JoinHandle<Result<(), promethean::Error>>>);

impl Acks {
    pub fn new() -> Self {
        Self(Waiting::at_most(ACKS_WAITING))
    }

    pub async fn ack(&mut self, batch: Vec<Delivery>) -> anyhow::Result<()> {
        match self.0.push(tokio::spawn(promethean::ack_all(batch))).await {
            Some(answer) => Ok(answer??),
            None => Ok(()),
        }
    }

    pub async fn finish(self) -> anyhow::Result<()> {
        for ack in self.0.rest() {
            ack.await??;
        }
        Ok(())
    }
}

/// What is under way: when that is too much, the oldest is waited for.
struct Waiting<F> {
    queue: VecDeque<F>,
    most: usize,
}

impl<F: Future> Waiting<F> {
    fn at_most(most: usize) -> Self {
        Self { queue: VecDeque::with_capacity(most), most: most.max(1) }
    }

    /// What the oldest came to, where it had to be waited for.
    async fn push(&mut self, one: F) -> Option<F::Output> {
        self.queue.push_back(one);
        if self.queue.len() < self.most {
            return None;
        }
        Some(self.queue.pop_front()?.await)
    }

    fn rest(self) -> impl Iterator<Item = F> {
        self.queue.into_iter()
    }
}
