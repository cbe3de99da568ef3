//! `prom-bench letters`: many dead letters grouped, replayed with a canary that dies, then healed by a transform.
//!
//! The consumer refuses orders whose amount is text. Each figure is printed only where the counts are right: every letter counted,
//! nothing sent beyond the canary, every healed event acked once.

use std::time::{Duration, Instant};

use anyhow::ensure;
use futures::FutureExt;
use futures::future::join_all;
use prom_jobs::{LetterFilter, LetterJob, LetterJobState, LetterOffice, LetterOrder, LetterStanding, LetterWork};
use prom_types::{NewEvent, TopicName};
use promethean::{Bus, Position};
use serde_json::{Value, json};

use crate::args::LettersArgs;
use crate::embedded_bus::EmbeddedBus;
use crate::figure::{self, Figure, Goal};
use crate::interrupt;
use crate::proc;
use crate::work_dir::WorkDir;

const TITLE: &str = "Dead letters on the embedded store";
const TOPIC: &str = "orders";
const BATCH: u64 = 1000;
const CANARY: u64 = 10;
/// Fewer than a subscriber may hold.
const SETTLED_TOGETHER: usize = 500;

pub fn run(args: &LettersArgs) -> anyhow::Result<()> {
    let work_dir = WorkDir::make(&args.files)?;
    let about = work_dir.describe();
    eprintln!("measuring: {about}");
    let figures = interrupt::block_on(measure(args, &work_dir))?;
    figure::print(&args.measure, &about, TITLE, &figures);
    Ok(())
}

async fn measure(args: &LettersArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let count = args.measure.full_or_quick(args.letters, args.letters.min(20_000));
    let ours = EmbeddedBus::open_at(&work_dir.fresh("letters")?).await?;
    let (bus, topic) = (ours.bus.clone(), TopicName::parse(TOPIC)?);
    let mut figures = Vec::new();
    let mut note = |name: String, value: f64, unit: &'static str| {
        eprintln!("  {name}: {value:.1} {unit}");
        figures.push(Figure::new(name, value, unit, Goal::None));
    };
    let many = prom_load::figures::count(count as f64);
    let written = write_letters(&bus, count).await?;
    note(format!("{many} events die, each with its letter"), written.as_secs_f64(), "s");
    let before = memory()?;
    let letters = LetterOffice::start(bus.clone());
    let began = Instant::now();
    let summary = letters.summary(&topic).await?;
    ensure!(summary.totals.count == count && summary.errors.len() == 1, "{summary:?}");
    note(format!("{many} letters grouped for the first time"), began.elapsed().as_secs_f64(), "s");
    let began = Instant::now();
    letters.summary(&topic).await?;
    note("grouped again".to_owned(), began.elapsed().as_secs_f64() * 1e3, "ms");
    let began = Instant::now();
    let page = letters.page(&topic, &LetterFilter::default(), None, 100).await?;
    ensure!(page.letters.len() == 100, "a page of {}", page.letters.len());
    note("the newest 100".to_owned(), began.elapsed().as_secs_f64() * 1e3, "ms");
    let began = Instant::now();
    stopped_by_its_canary(&bus, &letters, &topic).await?;
    note(format!("a canary of {CANARY} dies and stops the replay"), began.elapsed().as_secs_f64() * 1e3, "ms");
    let (sent, acked) = healed(&bus, &letters, &topic, count - CANARY).await?;
    note(format!("{many} events mended and sent"), sent.as_secs_f64(), "s");
    note("until all are acked, and known to be".to_owned(), acked.as_secs_f64(), "s");
    note("memory before grouping".to_owned(), before, "MB");
    note("memory at the end".to_owned(), memory()?, "MB");
    note("memory at the highest".to_owned(), proc::peak_mb(own_id()?)?, "MB");
    drop(letters);
    ours.close().await?;
    Ok(figures)
}

fn own_id() -> anyhow::Result<i32> {
    Ok(i32::try_from(std::process::id())?)
}

fn memory() -> anyhow::Result<f64> {
    Ok(proc::resident(own_id()?)?.total_mb)
}

/// Publishes orders that nobody can handle, and has them refused.
async fn write_letters(bus: &Bus, count: u64) -> anyhow::Result<Duration> {
    let topic = TopicName::parse(TOPIC)?;
    let began = Instant::now();
    let reader = bus.clone();
    let dying = tokio::spawn(async move { settle(&reader, count).await });
    for first in (0..count).step_by(BATCH as usize) {
        let order = |n: u64| {
            let payload =
                prom_types::Json::from_value(&json!({"n": n, "amount": n.to_string(), "text": "x".repeat(100)}))?;
            Ok(NewEvent { key: Some((n % 1000).to_string()), ..NewEvent::new(topic.clone(), payload) })
        };
        let orders: Vec<NewEvent> =
            (first..(first + BATCH).min(count)).map(order).collect::<Result<_, prom_types::Invalid>>()?;
        bus.publish_batch(orders).await?;
    }
    dying.await??;
    while bus.bounds("dlq.orders").await?[0].next < count {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(began.elapsed())
}

/// Takes so many events: those with a number are acked.
async fn settle(bus: &Bus, count: u64) -> anyhow::Result<()> {
    let mut orders = bus.subscribe(TOPIC, "billing").from(Position::Earliest).max_attempts(1).start().await?;
    let mut under_way = Vec::with_capacity(SETTLED_TOGETHER);
    for taken in 1..=count {
        let Some(order) = orders.next().await else {
            anyhow::bail!("the subscription ended");
        };
        let payload: Value = order.payload()?;
        under_way.push(match payload["amount"].is_number() {
            true => order.ack().boxed(),
            false => order.nack(&format!("amount of order {} is text", payload["n"])).boxed(),
        });
        if under_way.len() == SETTLED_TOGETHER || taken == count {
            for settled in join_all(under_way.drain(..)).await {
                settled?;
            }
        }
    }
    orders.unsubscribe().await;
    Ok(())
}

fn order(topic: &TopicName) -> LetterOrder {
    LetterOrder {
        topic: topic.clone(),
        work: LetterWork::ToTopic,
        filter: LetterFilter { standing: LetterStanding::Open, ..LetterFilter::default() },
        limit: u64::MAX,
        transform: None,
        payload: None,
        skip_unfit: false,
        rate: None,
        canary: Some(CANARY),
        stop_on_failure: None,
        by: None,
    }
}

async fn stopped_by_its_canary(bus: &Bus, letters: &LetterOffice, topic: &TopicName) -> anyhow::Result<()> {
    let job = letters.order(order(topic)).await?;
    settle(bus, CANARY).await?;
    let job = at_rest(letters, &job).await?;
    ensure!(job.state == LetterJobState::Stopped && job.replayed == CANARY, "{job:?}");
    Ok(())
}

/// How long sending took, and until everything was acked.
async fn healed(
    bus: &Bus,
    letters: &LetterOffice,
    topic: &TopicName,
    first: u64,
) -> anyhow::Result<(Duration, Duration)> {
    let count = first + CANARY;
    let began = Instant::now();
    let transform = Some(".payload.amount |= tonumber".to_owned());
    let job = letters.order(LetterOrder { transform, ..order(topic) }).await?;
    let reader = bus.clone();
    let acking = tokio::spawn(async move { settle(&reader, count).await });
    let sent = at_rest(letters, &job).await?;
    ensure!(sent.state == LetterJobState::Done && sent.replayed == count, "{sent:?}");
    let sent = began.elapsed();
    acking.await??;
    loop {
        let job = letters.job(job.id).await?;
        ensure!(job.dead == 0, "{job:?}");
        if job.acked == count {
            return Ok((sent, began.elapsed()));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn at_rest(letters: &LetterOffice, job: &LetterJob) -> anyhow::Result<LetterJob> {
    loop {
        let job = letters.wait_for(job.id, Duration::from_secs(60)).await?;
        if job.is_at_rest() {
            return Ok(job);
        }
        eprintln!("    {} of the letters are sent, {} acked", job.replayed, job.acked);
    }
}
