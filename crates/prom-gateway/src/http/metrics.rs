//! `GET /metrics`: everything that is counted, for Prometheus.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use hashbrown::HashSet;
use http::header::CONTENT_TYPE;
use prom_auth::Action;
use prom_types::{GroupName, TopicName};

use super::api::Api;
use super::caller::Caller;
use super::problem::{Code, Problem, Problems};
use crate::metrics::{self, Omitted};

#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "metrics",
    tag = "hub",
    summary = "Metrics in the text format of Prometheus",
    responses((status = 200, description = "The metrics", body = String, content_type = "text/plain; version=0.0.4"), Problems),
)]
pub(super) async fn get(State(api): State<Arc<Api>>, caller: Caller) -> Result<Response, Problem> {
    caller.may_everywhere(Action::Ops)?;
    let bus = &api.hub.bus;
    // The right to the hub as a whole is not one to its own topics, nor to what another rule denies in a group.
    let sees = |topic: &TopicName, group: &GroupName| caller.may_in_group(Action::Ops, topic, group).is_ok();
    let mut meters = bus.meters();
    meters.topics.retain(|meter| caller.may(Action::Ops, &meter.topic).is_ok());
    meters.groups.retain(|meter| sees(&meter.topic, &meter.group));
    meters.owners.retain(|owners| sees(&owners.topic, &owners.group));
    let mut lags = bus.lag_counts().await?;
    lags.retain(|lag| sees(&lag.topic, &lag.group));
    let most = api.hub.options.metric_series;
    let omitted = Omitted {
        topics: keep_largest(&mut meters.topics, most, |meter| meter.published),
        groups: keep_largest(&mut meters.groups, most, |meter| meter.delivered),
        lags: keep_largest(&mut lags, most, |lag| lag.lag_events),
    };
    let text = metrics::exposition(&api.hub, &meters, &lags, &omitted);
    let text = text.map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    Ok(([(CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response())
}

/// Keeps those with the largest counts, in the order they had. Returns how many went.
pub(super) fn keep_largest<T>(series: &mut Vec<T>, most: usize, count: impl Fn(&T) -> u64) -> usize {
    let omitted = series.len().saturating_sub(most);
    if omitted > 0 {
        let mut counts: Vec<(Reverse<u64>, usize)> =
            series.iter().enumerate().map(|(at, one)| (Reverse(count(one)), at)).collect();
        counts.sort_unstable();
        let kept: HashSet<usize> = counts.into_iter().take(most).map(|(_, at)| at).collect();
        let mut at = 0;
        series.retain(|_| {
            at += 1;
            kept.contains(&(at - 1))
        });
    }
    omitted
}
