//! Flows from and into databases, asked once for each scrape. A hub without flows says nothing about them.

use std::sync::Arc;

use prom_jobs::{Flow, FlowStatus};
use prom_types::EpochMs;
use prometheus::proto::MetricFamily;

use super::family::{counters, gauges};
use crate::Hub;

/// A flow as it was when the scrape came.
struct SampledFlow {
    flow: Arc<dyn Flow>,
    status: FlowStatus,
}

impl SampledFlow {
    fn labels(&self) -> Vec<(&str, &str)> {
        vec![("kind", self.flow.kind().as_str()), ("name", self.flow.name())]
    }

    fn with<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        [&self.labels(), more].concat()
    }

    /// Missing where nothing waits, or where that is not known.
    fn oldest_age_s(&self, now: EpochMs) -> Option<u64> {
        let age_ms = now.saturating_sub(self.status.oldest?).max(0);
        Some(age_ms.unsigned_abs() / 1000)
    }
}

pub(super) fn flows(hub: &Hub) -> Vec<MetricFamily> {
    let sampled: Vec<SampledFlow> =
        hub.flows.all().into_iter().map(|flow| SampledFlow { status: flow.status(), flow }).collect();
    let now = hub.clock.now_ms();
    let up = |one: &SampledFlow| u64::from(!one.status.state.is_unwell());
    let total = |name, help, count: fn(&FlowStatus) -> u64| {
        counters(name, help, sampled.iter().map(|one| (one.labels(), count(&one.status))))
    };
    let states = sampled.iter().map(|one| (one.with(&[("state", one.status.state.as_str())]), 1));
    let pending = sampled.iter().filter_map(|one| Some((one.labels(), one.status.pending?)));
    let oldest = sampled.iter().filter_map(|one| Some((one.labels(), one.oldest_age_s(now)?)));
    let families = [
        gauges(
            "flow_up",
            "1, or 0 while the flow retries or is stopped.",
            sampled.iter().map(|one| (one.labels(), up(one))),
        ),
        gauges("flow_state", "1 for the state that the flow is in.", states),
        gauges("flow_pending", "Rows or events that wait for the flow.", pending),
        gauges("flow_oldest_age_seconds", "Age of the oldest row or event that waits for the flow.", oldest),
        total("flow_read_total", "Rows, changes or events that the flow took.", |status| status.counts.read),
        total("flow_written_total", "Events published or documents written by the flow.", |status| {
            status.counts.written
        }),
        total(
            "flow_skipped_total",
            "What the flow left out: filtered, without a key, or older than what is there.",
            |status| status.counts.skipped,
        ),
        total("flow_failed_total", "Dead letters of the flow, and rows in error.", |status| status.counts.failed),
        stages(&sampled),
    ];
    families.into_iter().flatten().collect()
}

fn stages(sampled: &[SampledFlow]) -> Option<MetricFamily> {
    let quantiles = sampled.iter().flat_map(|one| {
        one.status.stages.iter().flat_map(|stage| {
            let of = |quantile| one.with(&[("stage", stage.name), ("quantile", quantile)]);
            [(of("0.5"), stage.p50_ms), (of("0.99"), stage.p99_ms)]
        })
    });
    gauges("flow_stage_ms", "How long a stage of the flow takes, of the recent ones, in milliseconds.", quantiles)
}
