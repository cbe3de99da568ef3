//! `prom-bench core`: the bus as a library on the embedded store, fsync on, 256-byte payloads.
//!
//! Every figure that depends on the disk is shown beside what the bare disk gave in the same run.

mod deliver;
mod latency;
mod log;
mod publish;
mod replay;

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use prom_load::figures::count;
use promethean::Bus;

use crate::args::{CoreArgs, FillArgs};
use crate::bare::{Allocation, BareFile, gathered};
use crate::embedded_bus::EmbeddedBus;
use crate::figure::{self, Figure, Goal};
use crate::interrupt;
use crate::journal::behind::with_segments;
use crate::work_dir::WorkDir;

const TITLE: &str = "The bus on the embedded store, fsync on, 256-byte payloads";
/// What an event of 256 bytes takes in a frame, with its header and its share of the frame's.
const EVENT_BYTES: usize = 320;
const BARE_FILE_BYTES: u64 = 64 << 20;
const WARM_BYTES: u64 = 6 << 30;
/// Memory must not follow the backlog. This is about what the store's own limits add up to: events not yet in
/// segments, its cache, remembered ids, the database's blocks.
const MEMORY_MB: f64 = 300.0;

pub fn run(args: &CoreArgs) -> anyhow::Result<()> {
    let work_dir = WorkDir::make(&args.files)?;
    let about = work_dir.describe();
    eprintln!("measuring: {about}");
    if !args.measure.quick {
        work_dir.warm(WARM_BYTES)?;
    }
    let figures = interrupt::block_on(measure(args, &work_dir))?;
    figure::print(&args.measure, &about, TITLE, &figures);
    Ok(())
}

async fn measure(args: &CoreArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let zeroed = Allocation::PreZeroed { bytes: BARE_FILE_BYTES };
    let mut bare = BareFile::make(&work_dir.path().join("bare"), zeroed)?;
    let mut figures = Vec::new();
    figures.push(publishing(args, work_dir, &mut bare, 1_000, Goal::AtLeast(1e6)).await?);
    figures.push(gathering(args, work_dir).await?);
    figures.push(disk_alone(args, work_dir, &mut bare)?);
    figures.push(publishing(args, work_dir, &mut bare, 64, Goal::OfBareAtLeast(1.0 / 1.3)).await?);
    figures.push(delivering(args, work_dir).await?);
    figures.extend(single_publisher(args, work_dir, &mut bare).await?);
    figures.extend(large_log(args, work_dir).await?);
    Ok(figures)
}

async fn publishing(
    args: &CoreArgs,
    work_dir: &WorkDir,
    bare: &mut BareFile,
    in_flight: usize,
    goal: Goal,
) -> anyhow::Result<Figure> {
    eprintln!("  publish, {in_flight} in flight");
    let bound = gathered(bare, EVENT_BYTES, in_flight, args.measure.span() / 2)?;
    let publish = async |bus: &Bus| publish::publishers(in_flight).rate(bus, args.measure.span()).await;
    let rate = on_new_bus(work_dir, publish).await?;
    let name = format!("publish, {in_flight} in flight");
    Ok(Figure::new(name, rate, "events/s", goal).beside(bound, "gathered batches"))
}

/// As many in flight, handed over as a gateway does: what came together goes together.
async fn gathering(args: &CoreArgs, work_dir: &WorkDir) -> anyhow::Result<Figure> {
    eprintln!("  publish, 1000 in flight, gathered");
    let gather = async |bus: &Bus| publish::rate_gathered(bus, 1_000, 100, args.measure.span()).await;
    let rate = on_new_bus(work_dir, gather).await?;
    Ok(Figure::new("publish, 1000 in flight, gathered by 100", rate, "events/s", Goal::AtLeast(1e6)))
}

/// What the disk itself allows when every byte is written twice and synced, with no code of the store.
fn disk_alone(args: &CoreArgs, work_dir: &WorkDir, bare: &mut BareFile) -> anyhow::Result<Figure> {
    eprintln!("  the disk alone");
    let dir = work_dir.path().join("disk-alone");
    let rate = with_segments(bare, &dir, 1, args.measure.span())?;
    std::fs::remove_dir_all(&dir)?;
    Ok(Figure::new("(plain files: journal + segment, batches of 1000)", rate, "events/s", Goal::None))
}

async fn delivering(args: &CoreArgs, work_dir: &WorkDir) -> anyhow::Result<Figure> {
    eprintln!("  publish + dispatch + ack");
    let rate = on_new_bus(work_dir, async |bus: &Bus| deliver::rate(bus, args.measure.span()).await).await?;
    let name = "publish + dispatch + ack of every event";
    Ok(Figure::new(name, rate, "events/s", Goal::AtLeast(6e5)))
}

async fn single_publisher(args: &CoreArgs, work_dir: &WorkDir, bare: &mut BareFile) -> anyhow::Result<[Figure; 2]> {
    eprintln!("  single publisher");
    let beside = async |bus: &Bus| latency::beside_bare(bus, bare, args.measure.samples()).await;
    let (ours, disk) = on_new_bus(work_dir, beside).await?;
    let p50 = Figure::new("single publisher, p50", ours.p50_ms(), "ms", Goal::OfBareAtMost(1.5));
    let p99 = Figure::new("single publisher, p99", ours.p99_ms(), "ms", Goal::None);
    Ok([p50.beside(disk.p50_ms(), "write + fdatasync"), p99.beside(disk.p99_ms(), "write + fdatasync")])
}

/// Memory while it is written, opening it, reading all of it.
async fn large_log(args: &CoreArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let size = format!("{} GB", args.log.log_gb);
    eprintln!("  a log of {size}, written by a process that is killed at the end");
    let data = work_dir.path().join("log");
    let filled = log::fill_in_child(&data, args.log.log_gb).context("filling the log")?;
    eprintln!("    {} events at {}/s", filled.events, count(filled.events_per_second));
    let name = format!("memory with a backlog of {size} (a quarter of it: {:.0} MB)", filled.quarter_mb);
    let mut figures = vec![Figure::new(name, filled.end_mb, "MB", Goal::AtMost(MEMORY_MB))];

    let (opened, ours) = open(&data).await?;
    ours.close().await?;
    let goal = Goal::AtMost(100.0);
    figures.push(Figure::new(format!("open a log of {size} after a kill"), opened, "ms", goal));
    let (opened, ours) = open(&data).await?;
    figures.push(Figure::new(format!("open a log of {size} after a clean close"), opened, "ms", goal));
    eprintln!("  replay");
    let rate = replay::rate(&ours.store).await?;
    ours.close().await?;
    figures.push(Figure::new("replay from disk", rate, "events/s", Goal::AtLeast(2e6)));
    Ok(figures)
}

/// Measures on a bus in a directory of its own.
async fn on_new_bus<T>(work_dir: &WorkDir, measure: impl AsyncFnOnce(&Bus) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let ours = EmbeddedBus::open_at(&work_dir.fresh("bus")?).await?;
    let measured = measure(&ours.bus).await?;
    ours.close().await?;
    Ok(measured)
}

/// How many milliseconds it took, and the open bus.
async fn open(data: &Path) -> anyhow::Result<(f64, EmbeddedBus)> {
    let started = Instant::now();
    let ours = EmbeddedBus::open_at(data).await?;
    Ok((started.elapsed().as_secs_f64() * 1e3, ours))
}

/// The child's side of [`log::fill_in_child`].
pub fn fill(args: &FillArgs) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(log::fill(&args.dir, args.log.bytes()))
}
