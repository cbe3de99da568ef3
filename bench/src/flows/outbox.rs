//! Outboxes: rows drained by a hub, beside a program that claims and marks the same rows with the driver and publishes nothing,
//! and beside the driver's plain inserts.
//!
//! The rows are there before the clock starts, so the drainer is measured and not the writer. A round counts only if the topic
//! then has every row.

mod old_transaction;
mod service;

use std::time::{Duration, Instant};

use anyhow::ensure;
use prom_flows::outbox::{OnError, OutboxFlow, OutboxOptions};
use prom_jobs::Flow;

use self::service::{Kind, Service, TOPIC};
use crate::args::FlowsArgs;
use crate::embedded_bus::EmbeddedBus;
use crate::figure::{Figure, Goal};
use crate::summary::Summary;
use crate::work_dir::WorkDir;

const PATIENCE: Duration = Duration::from_secs(600);
const KINDS: [Kind; 3] = [Kind::Mongo, Kind::Postgres, Kind::Sqlite];

pub async fn measure(args: &FlowsArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let rows = args.events();
    let mut figures = Vec::new();
    for kind in KINDS {
        let service = Service::start(kind, work_dir).await?;
        let (mut inserted, mut raw, mut ours) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..args.rounds {
            inserted.push(per_second(rows, service.fill(rows).await?));
            raw.push(per_second(rows, service.drain_with_driver(rows).await?));
            service.fill(rows).await?;
            ours.push(per_second(rows, drain(&service, work_dir, rows).await?));
            let told = [&inserted, &raw, &ours].map(|rates| rates[round]);
            eprintln!("  {kind:?}: insert {:.0}/s, claim and mark {:.0}/s, drain {:.0}/s", told[0], told[1], told[2]);
        }
        let figure = |name: String, goal| Figure::new(name, Summary::median_of(&ours), "events/s", goal);
        let goal = Goal::AtLeast(20_000.0);
        let claimed = figure(format!("outbox in {kind:?}, drained by one hub"), goal);
        figures.push(claimed.beside(Summary::median_of(&raw), "the driver claims and marks"));
        let written = figure(format!("outbox in {kind:?}, beside its writers"), Goal::None);
        figures.push(written.beside(Summary::median_of(&inserted), "the driver inserts"));
    }
    figures.extend(old_transaction::measure(args, work_dir).await?);
    Ok(figures)
}

fn per_second(rows: u64, took: Duration) -> f64 {
    rows as f64 / took.as_secs_f64()
}

fn options(service: &Service) -> OutboxOptions {
    let place = service.place();
    OutboxOptions {
        name: "shop".to_owned(),
        batch: 100,
        lease: Duration::from_secs(30),
        poll: Duration::from_millis(250),
        max_attempts: 10,
        on_error: OnError::Hold,
        keep_sent: place.usual_keep_sent(),
        place,
    }
}

/// Until every row is published and marked.
async fn drain(service: &Service, work_dir: &WorkDir, rows: u64) -> anyhow::Result<Duration> {
    let bus = EmbeddedBus::open_at(&work_dir.fresh("outbox")?).await?;
    let began = Instant::now();
    let outbox = OutboxFlow::start(&bus.bus, options(service));
    while outbox.status().counts.written < rows {
        ensure!(began.elapsed() < PATIENCE, "{:?}", outbox.status());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let took = began.elapsed();
    outbox.end().await;
    let published: u64 = bus.bus.bounds(TOPIC).await?.iter().map(|bounds| bounds.next).sum();
    ensure!(published == rows && service.unsent().await? == 0, "{published} of {rows} rows were published");
    bus.close().await?;
    Ok(took)
}
