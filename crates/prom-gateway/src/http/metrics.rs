//! `GET /metrics`: everything that is counted, for Prometheus.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use prom_auth::Action;
use prom_types::{GroupName, TopicName};

use super::api::Api;
use super::caller::Caller;
use super::lag;
use super::problem::{Code, Problem, Problems};
use crate::metrics;

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
    let mut readings = lag::readings(bus).await?;
    readings.retain(|(topic, group)| sees(topic, group));
    let lags = lag::lags(bus, readings).await?;
    let text = metrics::exposition(&api.hub, &meters, &lags);
    let text = text.map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    Ok(([(CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response())
}
