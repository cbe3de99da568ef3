//! `prom-bench past`: a long compacted topic. How long it takes to learn what one key was at any time, and what compaction
//! gives back and costs those who publish meanwhile.
//!
//! Every answer about the past is compared with what was published.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prom_jobs::{SnapshotBuild, SnapshotStep, TimeTravel, index_keys};
use prom_types::{Compaction, Json, NewEvent, TopicName};
use promethean::{Bus, BusOptions, EmbeddedStore, TopicSettings};

use crate::args::PastArgs;
use crate::bus_load::payload;
use crate::figure::{self, Figure, Goal};
use crate::interrupt;
use crate::page_cache::bytes_below;
use crate::work_dir::WorkDir;

const TOPIC: &str = "bench.state";
const BATCH: u64 = 1_000;
/// Between two events of the publisher whose latency is measured.
const PACE: Duration = Duration::from_millis(2);
/// One key at a time that is over, with a snapshot.
const LOOK_MS: f64 = 10.0;

pub fn run(args: &PastArgs) -> anyhow::Result<()> {
    let work_dir = WorkDir::make(&args.files)?;
    let about = work_dir.describe();
    eprintln!("measuring: {about}");
    let figures = interrupt::block_on(measure(args, &work_dir))?;
    let events = prom_load::figures::count(args.events() as f64);
    let keys = prom_load::figures::count(args.keys() as f64);
    figure::print(&args.measure, &about, &format!("The past of a topic: {events} events of {keys} keys"), &figures);
    Ok(())
}

async fn measure(args: &PastArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let dir = work_dir.fresh("past")?;
    let options = BusOptions { maintenance_interval: None, ..BusOptions::default() };
    let store = EmbeddedStore::open(&dir).await?;
    let bus = Bus::start(store.clone(), options).await?;
    let topic = TopicName::parse(TOPIC)?;
    let compaction = Some(Compaction { tombstone_grace_ms: 0, min_age_ms: 0 });
    bus.create_topic(TopicSettings { compaction, ..TopicSettings::new(TOPIC)? }).await?;
    let times = fill(&bus, &topic, args).await?;
    let snapshot_s = snapshot(&bus, &topic).await?;
    let indexed = Instant::now();
    index_keys(&bus, &topic).await?;
    let index_s = indexed.elapsed().as_secs_f64();
    let mut looks = look(&bus, &topic, args, &times).await?;
    let mut figures = vec![
        Figure::new("snapshot of all keys", snapshot_s * 1000.0, "ms", Goal::None),
        Figure::new("index of all keys", index_s * 1000.0, "ms", Goal::None),
        Figure::new("one key at a random time, p50", percentile(&mut looks, 0.5), "ms", Goal::AtMost(LOOK_MS)),
        Figure::new("one key at a random time, p99", percentile(&mut looks, 0.99), "ms", Goal::AtMost(LOOK_MS)),
    ];
    figures.extend(compacting(&bus, &store, &topic, args, &dir).await?);
    bus.shutdown().await?;
    Ok(figures)
}

/// Publishes; when each batch was stored.
async fn fill(bus: &Bus, topic: &TopicName, args: &PastArgs) -> anyhow::Result<Vec<i64>> {
    eprintln!("  publishing {} events", args.events());
    let payload = Json::parse(payload())?;
    let mut times = Vec::new();
    for batch in 0..args.events().div_ceil(BATCH) {
        let mut work = bus.unit_of_work();
        for n in batch * BATCH..(batch + 1) * BATCH {
            let mut event = NewEvent::new(topic.clone(), payload.clone());
            event.key = Some(key_of(n, args.keys()));
            work.publish(&event)?;
        }
        let receipts = work.commit().await?;
        times.extend(receipts.last().map(|last| last.stored_ts));
    }
    Ok(times)
}

/// Each key comes once in so many events, in an order that looks like none.
fn key_of(n: u64, keys: u64) -> String {
    format!("host:{}", (n % keys).wrapping_mul(7_919) % keys)
}

async fn snapshot(bus: &Bus, topic: &TopicName) -> anyhow::Result<f64> {
    eprintln!("  writing a snapshot");
    let began = Instant::now();
    let mut build = SnapshotBuild::start(bus, topic).await?;
    while !matches!(build.step().await?, SnapshotStep::Done(_)) {}
    build.give_back().await;
    Ok(began.elapsed().as_secs_f64())
}

/// Milliseconds of each look.
async fn look(bus: &Bus, topic: &TopicName, args: &PastArgs, times: &[i64]) -> anyhow::Result<Vec<f64>> {
    eprintln!("  looking into the past");
    let travel = TimeTravel::new(bus, topic.clone());
    let mut millis = Vec::new();
    let many = args.measure.full_or_quick(1_000, 200);
    for round in 0..many {
        // Spread over all of the history by a step that shares nothing with its length.
        let batch = (round * 7_368_787 + 13) % times.len() as u64;
        let ts = times[batch as usize];
        let n = (round * 104_729) % args.keys();
        let key = key_of(n, args.keys());
        let began = Instant::now();
        let found = travel.key_at(ts, &key).await?;
        millis.push(began.elapsed().as_secs_f64() * 1000.0);
        // Batches of one millisecond share their time.
        let last = times.partition_point(|time| *time <= ts) as u64 * BATCH;
        let expected =
            (0..=(last.saturating_sub(1)) / args.keys()).rev().map(|turn| turn * args.keys() + n).find(|at| *at < last);
        let offset = found.map(|state| state.offset);
        anyhow::ensure!(offset == expected, "{key} at {ts} is at {offset:?} and not at {expected:?}");
    }
    Ok(millis)
}

async fn compacting(
    bus: &Bus,
    store: &Arc<EmbeddedStore>,
    topic: &TopicName,
    args: &PastArgs,
    dir: &std::path::Path,
) -> anyhow::Result<Vec<Figure>> {
    let span = args.measure.full_or_quick(Duration::from_secs(10), Duration::from_secs(2));
    eprintln!("  publishing beside nothing, then beside a compaction");
    let mut alone = paced(bus, topic, args, async {
        tokio::time::sleep(span).await;
        Ok(())
    })
    .await?;
    store.checkpoint().await?;
    let before = bytes_below(&dir.join("segments"))?;
    let began = Instant::now();
    let mut reports = Vec::new();
    let compact = async {
        reports = bus.compact_now().await?;
        Ok(())
    };
    let mut beside = paced(bus, topic, args, compact).await?;
    let seconds = began.elapsed().as_secs_f64();
    store.checkpoint().await?;
    let after = bytes_below(&dir.join("segments"))?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let events =
        |of: fn(&prom_store::CompactReport) -> u64| reports.iter().map(|(_, report)| of(report)).sum::<u64>() as f64;
    let p99 = percentile(&mut alone, 0.99);
    Ok(vec![
        Figure::new("events before the compaction", events(|report| report.events_before), "events", Goal::None),
        Figure::new("events after it", events(|report| report.events_after), "events", Goal::None),
        Figure::new("space before it", megabytes(before), "MB", Goal::None),
        Figure::new("space after it", megabytes(after), "MB", Goal::AtMost(megabytes(before) / 2.0)),
        Figure::new("the compaction took", seconds * 1000.0, "ms", Goal::None),
        Figure::new("publish p50 during it", percentile(&mut beside, 0.5), "ms", Goal::None)
            .beside(percentile(&mut alone, 0.5), "before it"),
        Figure::new("publish p99 during it", percentile(&mut beside, 0.99), "ms", Goal::None).beside(p99, "before it"),
    ])
}

/// Publishes at a steady pace until the other work is over; milliseconds of each receipt.
async fn paced(
    bus: &Bus,
    topic: &TopicName,
    args: &PastArgs,
    work: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Vec<f64>> {
    let payload = Json::parse(payload())?;
    let mut pace = tokio::time::interval(PACE);
    let mut millis = Vec::new();
    let mut n = 0;
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => {
                done?;
                return Ok(millis);
            }
            _ = pace.tick() => {
                let mut event = NewEvent::new(topic.clone(), payload.clone());
                event.key = Some(key_of(n, args.keys()));
                n += 1;
                let began = Instant::now();
                bus.publish_event(event).await?;
                millis.push(began.elapsed().as_secs_f64() * 1000.0);
            }
        }
    }
}

fn percentile(millis: &mut [f64], share: f64) -> f64 {
    millis.sort_by(f64::total_cmp);
    let at = ((millis.len() as f64 * share) as usize).min(millis.len().saturating_sub(1));
    millis.get(at).copied().unwrap_or(f64::NAN)
}
