//! Tells `system.metrics` every so often how the hub is doing, so that there is a history also where no Prometheus is.
//!
//! Promises: a report has the shape of `GET /stats`, its rates are those since the report before; while nothing happens, nothing
//! is written; a report that fails is told in the log, and the next one is tried at its time.

use std::sync::{Arc, Weak};
use std::time::Duration;

use prom_engine::{Error, METRICS_TOPIC, TaskName};
use prom_protocol::http::stats::HubStats;

use super::rates::{CounterSample, MeasuredRates};
use crate::Hub;

impl Hub {
    /// Reports to `system.metrics` this often, until the hub stops.
    pub fn report_metrics(self: &Arc<Self>, every: Duration) {
        let hub = Arc::downgrade(self);
        let failures = self.failures().clone();
        let work = async move || run(&hub, every).await;
        tokio::spawn(failures.keep_running(TaskName::only("metrics report"), work));
    }
}

/// What the report before said.
struct Told {
    sample: CounterSample,
    figures: HubStats,
}

async fn run(hub: &Weak<Hub>, every: Duration) {
    let Some(began) = hub.upgrade().map(|hub| hub.clock.monotonic()) else { return };
    let mut told: Option<Told> = None;
    loop {
        let Some(hub) = hub.upgrade() else { return };
        match report(&hub, began, told.as_ref()).await {
            Ok(now) => told = Some(now),
            Err(ReportError::Bus(Error::Closed)) => return,
            Err(error) => tracing::warn!(%error, "how the hub is doing could not be written to {METRICS_TOPIC}"),
        }
        let mut stopping = hub.stopping.subscribe();
        drop(hub);
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = tokio::time::sleep(every) => {}
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum ReportError {
    #[error(transparent)]
    Bus(#[from] Error),
    #[error("the figures cannot be written as JSON: {0}")]
    Figures(#[from] serde_json::Error),
}

/// The first look only remembers.
async fn report(hub: &Hub, began: Duration, before: Option<&Told>) -> Result<Told, ReportError> {
    let meters = hub.bus.meters();
    let sample = CounterSample::new(hub.clock.monotonic(), &meters, &hub.bus.logs().await?);
    let uptime = sample.at.saturating_sub(began);
    let rates = MeasuredRates::new(before.map(|told| told.sample.clone()), sample.clone());
    let mut figures = crate::http::hub_stats(hub, uptime, &rates).await?;
    figures.background.retain(|work| work.failed.is_some());
    let own =
        meters.topics.iter().find(|topic| topic.topic.as_str() == METRICS_TOPIC).map_or(0, |topic| topic.published);
    let now = Told { sample, figures: comparable(&figures, own) };
    if before.is_some_and(|told| told.figures != now.figures) {
        let mut work = hub.bus.unit_of_work();
        work.report(hub.peers.as_ref().map(|peers| peers.name.as_str()), serde_json::to_value(&figures)?)?;
        work.commit().await?;
    }
    Ok(now)
}

/// Without what changes by itself, and by reports.
fn comparable(figures: &HubStats, own: u64) -> HubStats {
    let mut figures = figures.clone();
    (figures.uptime_s, figures.rates, figures.rss_bytes) = (0, None, None);
    figures.store.bytes = 0;
    figures.events.published = figures.events.published.saturating_sub(own);
    for work in &mut figures.background {
        (work.last_pass_ts, work.failures, work.failed) = (None, 0, None);
    }
    figures
}
