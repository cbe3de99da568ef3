//! PostgreSQL while an old transaction stays open: nothing that was drained can be removed from the table.
//!
//! How long a claim takes with few and with many dead rows, beside the same query that begins with the oldest row; and what
//! committing costs writers with and without a drainer.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use prom_flows::outbox::OutboxFlow;
use prom_jobs::Flow;
use sqlx::{PgPool, query, raw_sql};

use super::service::{Kind, Service, TOPIC};
use super::{PATIENCE, options};
use crate::args::FlowsArgs;
use crate::embedded_bus::EmbeddedBus;
use crate::figure::{Figure, Goal};
use crate::summary::Summary;
use crate::work_dir::WorkDir;

const WRITERS: usize = 4;

pub async fn measure(args: &FlowsArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let mut figures = claims(args, work_dir).await?;
    figures.extend(writers(args, work_dir).await?);
    Ok(figures)
}

/// Claims of the first tenth of the rows, of the last one, and of a drainer that always begins with the oldest row.
async fn claims(args: &FlowsArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let rows = 5 * args.events();
    let service = Service::start(Kind::Postgres, work_dir).await?;
    let Service::Postgres { pool, .. } = &service else { anyhow::bail!("another database") };
    let mut old = pool.begin().await?;
    raw_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1").execute(&mut *old).await?;
    service.fill(rows).await?;
    let bus = EmbeddedBus::open_at(&work_dir.fresh("old")?).await?;
    let began = Instant::now();
    let outbox = OutboxFlow::start(&bus.bus, options(&service));
    let (mut seen, mut first, mut last) = (0, Vec::new(), Vec::new());
    while seen < rows {
        let status = outbox.status();
        if status.counts.read > seen {
            seen = status.counts.read;
            let claim_us: f64 = status.details.get("claim_us").context("no claim was measured")?.parse()?;
            if seen < rows / 10 {
                first.push(claim_us / 1e3);
            } else if seen > rows - rows / 10 {
                last.push(claim_us / 1e3);
            }
        }
        ensure!(began.elapsed() < PATIENCE, "{status:?}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let rate = rows as f64 / began.elapsed().as_secs_f64();
    while service.unsent().await? > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    outbox.end().await;
    let from_the_oldest = oldest_first(pool).await?;
    old.rollback().await?;
    bus.close().await?;
    let dead = prom_load::figures::count(rows as f64);
    let (first, last) = (Summary::median_of(&first), Summary::median_of(&last));
    Ok(vec![
        Figure::new(format!("PostgreSQL, {dead} rows drained under an old transaction"), rate, "events/s", Goal::None),
        Figure::new(format!("a claim behind {dead} dead rows, p50"), last, "ms", Goal::OfBareAtMost(2.0))
            .beside(first, "behind the first tenth"),
        Figure::new("one that began with the oldest row would take", from_the_oldest, "ms", Goal::None),
    ])
}

/// The plain query, over nothing but dead rows.
async fn oldest_first(pool: &PgPool) -> anyhow::Result<f64> {
    let mut took = Vec::new();
    for _ in 0..5 {
        let mut connection = pool.acquire().await?;
        raw_sql("SET enable_seqscan = off; SET enable_bitmapscan = off").execute(&mut *connection).await?;
        let began = Instant::now();
        query("SELECT _id FROM outbox WHERE status = 'pending' ORDER BY ts, _id LIMIT 1000")
            .fetch_all(&mut *connection)
            .await?;
        took.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(Summary::median_of(&took))
}

/// What a commit costs writers that come at a steady pace.
async fn writers(args: &FlowsArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let each = args.measure.full_or_quick(4000, 400);
    let service = Service::start(Kind::Postgres, work_dir).await?;
    let Service::Postgres { pool, .. } = &service else { anyhow::bail!("another database") };
    commits(pool, each / 10).await?;
    let without = commits(pool, each).await?;
    let bus = EmbeddedBus::open_at(&work_dir.fresh("writers")?).await?;
    let outbox = OutboxFlow::start(&bus.bus, options(&service));
    let began = Instant::now();
    while service.unsent().await? > 0 {
        ensure!(began.elapsed() < PATIENCE, "{:?}", outbox.status());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let with = commits(pool, each).await?;
    outbox.end().await;
    bus.close().await?;
    let figure = |name: &str, at: f64, goal| {
        let of = |sorted: &[f64]| sorted[((sorted.len() - 1) as f64 * at) as usize];
        Figure::new(name, of(&with), "ms", goal).beside(of(&without), "without a drainer")
    };
    Ok(vec![
        figure("a writer's transaction beside a drainer, p50", 0.5, Goal::None),
        figure("a writer's transaction beside a drainer, p99", 0.99, Goal::None),
    ])
}

/// Sorted milliseconds of transactions that write one row each.
async fn commits(pool: &PgPool, each: u64) -> anyhow::Result<Vec<f64>> {
    let writer = |number: usize| async move {
        let mut took = Vec::new();
        for n in 0..each {
            let began = Instant::now();
            let mut transaction = pool.begin().await?;
            query("INSERT INTO outbox (topic, key, payload) VALUES ($1, $2, json_build_object('n', $3::bigint))")
                .bind(TOPIC)
                .bind(format!("w{number}"))
                .bind(i64::try_from(n)?)
                .execute(&mut *transaction)
                .await?;
            transaction.commit().await?;
            took.push(began.elapsed().as_secs_f64() * 1e3);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok::<_, anyhow::Error>(took)
    };
    let all = futures::future::try_join_all((0..WRITERS).map(writer)).await?;
    let mut took: Vec<f64> = all.into_iter().flatten().collect();
    took.sort_by(f64::total_cmp);
    Ok(took)
}
