//! Our hub at rest.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{idle_percent, look, percent};
use crate::args::Args;
use crate::figure::{Figure, Goal};
use crate::hub::process::{HubProcess, prom_binary};
use crate::hub::publish;
use crate::page_cache;
use crate::place::Place;
use crate::proc::Resident;
use crate::summary::Summary;
use crate::table::count;

const READY_MS: f64 = 100.0;
const RESIDENT_MB: f64 = 20.0;
const IDLE_PERCENT: f64 = 0.5;
const STARTS: usize = 5;
/// What the hub still does after a load is over by then.
const SETTLED_AFTER: Duration = Duration::from_secs(2);
const TOPIC: &str = "bench.publish128";

pub async fn figures(args: &Args, place: &Place) -> anyhow::Result<Vec<Figure>> {
    let (prom, data) = (prom_binary(args)?, place.path().join("hub"));
    let mut figures = Vec::new();
    eprintln!("  empty");
    figures.extend(at_rest(args, &prom, &data, "empty").await?);

    eprintln!("  filling {} GB", args.log_gb);
    let hub = HubProcess::start(&prom, &data).await?;
    while page_cache::bytes_below(&data)? < args.fill_bytes() {
        publish::rate(&hub, 128, Duration::from_secs(1)).await?;
    }
    let events = hub.head(TOPIC).await?;
    let begun = Instant::now();
    hub.stop().await?;
    let stopped = begun.elapsed().as_secs_f64() * 1e3;
    let size = format!("{:.1} GB, {} events", page_cache::bytes_below(&data)? as f64 / 1e9, count(events as f64));
    eprintln!("  with {size}");
    figures.push(Figure::new(format!("end in order under {size}"), stopped, "ms", Goal::None));
    figures.extend(at_rest(args, &prom, &data, &size).await?);
    figures.push(after_a_kill(&prom, &data, &size).await?);
    std::fs::remove_dir_all(&data)?;
    Ok(figures)
}

/// Starts that met a cold disk, then what it takes while nothing happens.
async fn at_rest(args: &Args, prom: &Path, data: &Path, size: &str) -> anyhow::Result<Vec<Figure>> {
    let mut ready = Vec::new();
    for _ in 0..STARTS {
        if data.is_dir() {
            page_cache::forget(data)?;
        }
        let hub = HubProcess::start(prom, data).await?;
        ready.push(hub.ready_ms);
        hub.stop().await?;
    }
    let hub = HubProcess::start(prom, data).await?;
    tokio::time::sleep(SETTLED_AFTER).await;
    let idle = idle_percent(&[hub.id()], look(args)).await?;
    let Resident { total_mb, anonymous_mb, file_mb } = hub.resident()?;
    hub.stop().await?;
    let ready = Summary::of(&ready).map_or(f64::NAN, |summary| summary.median);
    let name = |what: &str| format!("{what}, {size}");
    Ok(vec![
        Figure::new(name("ready after start"), ready, "ms", Goal::AtMost(READY_MS)),
        percent(name("processor time"), idle, Goal::AtMost(IDLE_PERCENT)),
        Figure::new(name("memory"), total_mb, "MB", Goal::AtMost(RESIDENT_MB)),
        Figure::new(name("memory of its own"), anonymous_mb, "MB", Goal::None),
        Figure::new(name("memory of program files"), file_mb, "MB", Goal::None),
    ])
}

/// Killed in the middle of a load, so that there is a journal to read.
async fn after_a_kill(prom: &Path, data: &Path, size: &str) -> anyhow::Result<Figure> {
    let hub = HubProcess::start(prom, data).await?;
    publish::rate(&hub, 128, Duration::from_millis(500)).await?;
    drop(hub);
    page_cache::forget(data)?;
    let hub = HubProcess::start(prom, data).await?;
    let ready = hub.ready_ms;
    hub.stop().await?;
    Ok(Figure::new(format!("ready after a kill under load, {size}"), ready, "ms", Goal::AtMost(READY_MS)))
}
