//! `prom-bench core`: the bus as a library on the embedded store, fsync on, 256-byte payloads.
//!
//! Every figure that depends on the disk stands beside what the bare disk gave in the same run.

mod deliver;
mod figure;
mod latency;
mod log;
mod memory;
mod publish;
mod replay;
mod scene;

use anyhow::Context;

use crate::args::{Args, Output, Pace};
use crate::bare::{BareFile, Ground, gathered};
use crate::place::Place;
use crate::table::count;
use figure::{Figure, Goal};
use scene::Scene;

/// What an event of 256 bytes takes in a frame, with its header and its share of the frame's.
const EVENT_BYTES: usize = 320;
const BARE_FILE_BYTES: u64 = 64 << 20;
const WARM_BYTES: u64 = 6 << 30;

pub fn run(args: &Args) -> anyhow::Result<()> {
    let place = Place::make(args)?;
    let about = place.describe();
    eprintln!("measuring: {about}");
    if args.pace == Pace::Full {
        eprintln!(
            "  writing {} GB so that no figure pays for a first touch of the disk",
            WARM_BYTES >> 30
        );
        place.warm(WARM_BYTES)?;
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let figures = runtime.block_on(measure(args, &place))?;
    match args.output {
        Output::Table => println!("{about}\n\n{}", figure::table(&figures)),
        Output::Json => println!("{}", figure::json(&about, &figures)),
    }
    Ok(())
}

async fn measure(args: &Args, place: &Place) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let ground = Ground::PreZeroed { bytes: BARE_FILE_BYTES };
    let mut bare = BareFile::make(&place.path().join("bare"), ground)?;

    for (in_flight, goal) in [(1_000, Goal::AtLeast(1e6)), (64, Goal::OfBareAtLeast(1.0 / 1.3))] {
        eprintln!("  publish, {in_flight} in flight");
        let bound = gathered(&mut bare, EVENT_BYTES, in_flight, args.span() / 2)?;
        let scene = Scene::open(place, "publish").await?;
        let rate = publish::rate(&scene.bus, in_flight, args.span()).await?;
        scene.close().await?;
        let name = format!("publish, {in_flight} in flight");
        figures.push(Figure::new(name, rate, "events/s", goal).beside(bound, "gathered batches"));
    }

    eprintln!("  publish + dispatch + ack");
    let scene = Scene::open(place, "deliver").await?;
    let rate = deliver::rate(&scene.bus, args.span()).await?;
    scene.close().await?;
    figures.push(Figure::new(
        "publish + dispatch + ack of every event",
        rate,
        "events/s",
        Goal::AtLeast(6e5),
    ));

    eprintln!("  single publisher");
    let scene = Scene::open(place, "latency").await?;
    let (ours, disk) = latency::beside_bare(&scene.bus, &mut bare, args.samples()).await?;
    scene.close().await?;
    let p50 = Figure::new("single publisher, p50", ours.p50_ms(), "ms", Goal::OfBareAtMost(1.5));
    figures.push(p50.beside(disk.p50_ms(), "write + fdatasync"));
    let p99 = Figure::new("single publisher, p99", ours.p99_ms(), "ms", Goal::None);
    figures.push(p99.beside(disk.p99_ms(), "write + fdatasync"));

    eprintln!(
        "  a log of {} GB, written by a process that is killed at the end",
        args.log_gb
    );
    let data = place.path().join("log");
    let filled = log::fill_in_child(&data, args.log_gb).context("filling the log")?;
    eprintln!("    {} events at {}/s", filled.events, count(filled.events_per_second));
    let growth = filled.resident_end as f64 / filled.resident_quarter as f64;
    let resident = filled.resident_end as f64 / 1e6;
    let name = format!(
        "memory with a backlog of {} GB (a quarter of it: {:.0} MB)",
        args.log_gb,
        filled.resident_quarter as f64 / 1e6
    );
    figures.push(Figure::new(
        name,
        resident,
        "MB",
        Goal::AtMost(resident / growth * 1.15),
    ));

    for how in ["after a kill", "after a clean close"] {
        let started = std::time::Instant::now();
        let scene = Scene::open_at(&data).await?;
        let opened = started.elapsed().as_secs_f64() * 1e3;
        if how == "after a clean close" {
            eprintln!("  replay");
            let rate = replay::rate(&scene.store).await?;
            figures.push(Figure::new("replay from disk", rate, "events/s", Goal::AtLeast(2e6)));
        }
        scene.close().await?;
        let name = format!("open a log of {} GB {how}", args.log_gb);
        figures.push(Figure::new(name, opened, "ms", Goal::AtMost(100.0)));
    }
    Ok(figures)
}

/// The child's side of [`log::fill_in_child`].
pub fn fill(dir: &std::path::Path, bytes: u64) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(log::fill(dir, bytes))
}
