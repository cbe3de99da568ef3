//! Our hub at rest.

use std::path::Path;
use std::time::{Duration, Instant};

use prom_load::figures::count;

use super::{idle_percent, look, percent};
use crate::args::RestArgs;
use crate::figure::{Figure, Goal};
use crate::load::consume::Backlog;
use crate::load::fill;
use crate::load::publish::{self, PAYLOAD_BYTES, Publishing};
use crate::load::rate::Spans;
use crate::load::topics::Topics;
use crate::ours::{HubClient, HubContender, http};
use crate::page_cache;
use crate::proc::Resident;
use crate::summary::Summary;
use crate::work_dir::WorkDir;

const READY_MS: f64 = 100.0;
const RESIDENT_MB: f64 = 20.0;
const IDLE_PERCENT: f64 = 0.5;
const STARTS: usize = 5;
/// What the hub still does after a load is over by then.
const SETTLED_AFTER: Duration = Duration::from_secs(2);
/// How much is filled before the log's size is looked at again.
const FILLED: Backlog = Backlog { topics: Topics::ONE, payload_bytes: PAYLOAD_BYTES, events: 200_000 };

pub async fn figures(args: &RestArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let hub = HubContender::new(args.binary.path()?, HubClient::RustClient);
    let dir = work_dir.fresh("hub")?;
    let mut figures = Vec::new();
    eprintln!("  empty");
    figures.extend(at_rest(args, &hub, &dir, "empty").await?);

    eprintln!("  filling {} GB", args.log.log_gb);
    let mut server = hub.start(dir.clone()).await?;
    while server.bytes_on_disk()? < args.log.bytes() {
        fill::fill(&mut server, FILLED).await?;
    }
    let events = http::head(server.process()?.address, &Topics::ONE.name(0)).await?;
    let begun = Instant::now();
    server.end().await?;
    let stopped = begun.elapsed().as_secs_f64() * 1e3;
    let size = format!("{:.1} GB, {} events", server.bytes_on_disk()? as f64 / 1e9, count(events as f64));
    eprintln!("  with {size}");
    figures.push(Figure::new(format!("end in order under {size}"), stopped, "ms", Goal::None));
    figures.extend(at_rest(args, &hub, &dir, &size).await?);
    figures.push(after_a_kill(&hub, &dir, &size).await?);
    std::fs::remove_dir_all(&dir)?;
    Ok(figures)
}

/// Starts that met a cold disk, then what it takes while nothing happens.
async fn at_rest(args: &RestArgs, hub: &HubContender, dir: &Path, size: &str) -> anyhow::Result<Vec<Figure>> {
    let mut ready = Vec::new();
    for _ in 0..STARTS {
        page_cache::forget(dir)?;
        let mut server = hub.start(dir.to_owned()).await?;
        ready.push(server.process()?.ready_ms);
        server.end().await?;
    }
    let mut server = hub.start(dir.to_owned()).await?;
    tokio::time::sleep(SETTLED_AFTER).await;
    let idle = idle_percent(&[server.process()?.id()], look(args)).await?;
    let Resident { total_mb, anonymous_mb, file_mb } = server.process()?.resident()?;
    server.end().await?;
    let ready = Summary::median_of(&ready);
    let name = |what: &str| format!("{what}, {size}");
    Ok(vec![
        Figure::new(name("ready after start"), ready, "ms", Goal::AtMost(READY_MS)),
        percent(name("processor time"), idle, Goal::AtMost(IDLE_PERCENT)),
        Figure::new(name("memory"), total_mb, "MB", Goal::AtMost(RESIDENT_MB)),
        Figure::new(name("memory of its own"), anonymous_mb, "MB", Goal::None),
        Figure::new(name("memory of program files"), file_mb, "MB", Goal::None),
    ])
}

/// Killed right after a load, so that there is a journal to read.
async fn after_a_kill(hub: &HubContender, dir: &Path, size: &str) -> anyhow::Result<Figure> {
    let server = hub.start(dir.to_owned()).await?;
    let spans = Spans { warm_up: Duration::ZERO, measured: Duration::from_millis(500) };
    publish::rate(&server, Publishing::USUAL, spans).await?;
    drop(server);
    page_cache::forget(dir)?;
    let mut server = hub.start(dir.to_owned()).await?;
    let ready = server.process()?.ready_ms;
    server.end().await?;
    Ok(Figure::new(format!("ready after a kill under load, {size}"), ready, "ms", Goal::AtMost(READY_MS)))
}
