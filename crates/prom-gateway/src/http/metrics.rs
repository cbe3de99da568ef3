//! `GET /metrics`: everything that is counted, for Prometheus.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use prom_auth::Action;

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
    let readings = lag::readings(bus).await?;
    let lags = lag::lags(bus, readings).await?;
    let text = metrics::exposition(&api.hub, &lags);
    let text = text.map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    Ok(([(CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response())
}
