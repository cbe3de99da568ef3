//! From publish to handler at a fixed pace, with the load open: an event that is late does not delay the next, and each
//! is timed from when it should have been sent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::consume;
use super::consume_job::{Clocked, ConsumeJob};
use super::contender::{Publisher, Server};
use super::publish_job::PublishJob;
use super::topics::Topics;
use crate::percentile::Spans;

pub const EVENTS_PER_SECOND: u32 = 1_000;
const INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / EVENTS_PER_SECOND as u64);
/// Sleeping is late by about this much; what is left is spent awake.
const SLEEP_IS_LATE: Duration = Duration::from_micros(70);
/// After the last event was sent, nothing takes longer than this.
const PATIENCE: Duration = Duration::from_secs(20);

/// One publisher, one subscriber; spans of those after the warm-up.
pub async fn spans(
    server: &dyn Server,
    payload_bytes: usize,
    warm_up: Duration,
    measured: Duration,
) -> anyhow::Result<Spans> {
    let topics = Topics::ONE;
    server.make(&topics).await?;
    let (skipped, counted) = (events_in(warm_up), events_in(measured));
    let total = skipped + counted;
    let consumed = Arc::new(ConsumeJob::new(total, total, Clocked::Yes));
    let mut consumer = consume::start(server, 1, &topics, &consumed).await?;
    let publisher = server.publisher(&topics).await?;
    let published = Arc::new(PublishJob::of(payload_bytes, topics.count, total));

    let begin = Instant::now() + INTERVAL * 10;
    consumer.during(pace(publisher, published, begin, total)).await??;
    let over = tokio::time::timeout(PATIENCE, consumer.during(consumed.over())).await;
    over.with_context(|| format!("{} of {total} events arrived", consumed.distinct()))??;
    consumer.finish().await?;
    consumed.sound()?;
    ensure!(consumed.distinct() == total, "{} of {total} events arrived", consumed.distinct());
    let offset = begin.duration_since(consumed.begun());
    let late = |(number, arrival): (u64, u64)| {
        let intended = offset + INTERVAL * u32::try_from(number).unwrap_or(u32::MAX);
        Duration::from_nanos(arrival).saturating_sub(intended)
    };
    Ok(Spans::of((0..).zip(consumed.arrivals()).skip(usize::try_from(skipped)?).map(late).collect()))
}

fn events_in(span: Duration) -> u64 {
    (span.as_secs_f64() * f64::from(EVENTS_PER_SECOND)) as u64
}

/// The runtime's timers tick by the millisecond; a thread of its own is on time.
async fn pace(publisher: Box<dyn Publisher>, job: Arc<PublishJob>, begin: Instant, total: u64) -> anyhow::Result<()> {
    let (tell, told) = oneshot::channel();
    let runtime = Handle::current();
    std::thread::Builder::new().name("pacer".to_owned()).spawn(move || {
        let paced = pace_here(publisher, &job, begin, total, || tell.is_closed(), &runtime);
        let _nobody_waits = tell.send(paced);
    })?;
    let mut publisher = told.await.context("the pacer has ended")??;
    publisher.acknowledged().await
}

fn pace_here(
    mut publisher: Box<dyn Publisher>,
    job: &PublishJob,
    begin: Instant,
    total: u64,
    is_given_up: impl Fn() -> bool,
    runtime: &Handle,
) -> anyhow::Result<Box<dyn Publisher>> {
    let mut due = begin;
    for number in 0..total {
        wait_until(due);
        ensure!(!is_given_up(), "interrupted");
        runtime.block_on(publisher.send(job, number))?;
        due += INTERVAL;
    }
    Ok(publisher)
}

fn wait_until(due: Instant) {
    let asleep = due.saturating_duration_since(Instant::now()).saturating_sub(SLEEP_IS_LATE);
    if !asleep.is_zero() {
        std::thread::sleep(asleep);
    }
    while Instant::now() < due {
        std::hint::spin_loop();
    }
}
