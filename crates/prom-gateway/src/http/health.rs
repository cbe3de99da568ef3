//! `GET /healthz` says that the process answers, `GET /readyz` that it can take events. Both are open.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_protocol::http::health::HealthAnswer;
use prom_protocol::http::problem::ProblemDocument;

use super::api::Api;
use super::limits::READY_TIMEOUT;
use super::problem::{Code, Problem};
use crate::Hub;

#[utoipa::path(
    get,
    path = "/healthz",
    operation_id = "healthz",
    tag = "hub",
    summary = "The process answers",
    security(()),
    responses((status = 200, description = "It does", body = HealthAnswer)),
)]
pub(super) async fn healthz() -> Json<HealthAnswer> {
    Json(HealthAnswer::ok())
}

#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "readyz",
    tag = "hub",
    summary = "Whether the hub accepts events",
    security(()),
    responses(
        (status = 200, description = "It does; `failing` counts parts that do not work", body = HealthAnswer),
        (status = 503, description = "Not now; `detail` says why", body = ProblemDocument, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn readyz(State(api): State<Arc<Api>>) -> Result<Json<HealthAnswer>, Problem> {
    match api.hub.bus.ready(READY_TIMEOUT).await {
        Ok(()) => Ok(Json(HealthAnswer { failing: failing(&api.hub), ..HealthAnswer::ok() })),
        Err(error) => Err(Problem::new(Code::Overloaded, error.to_string())),
    }
}

/// Kinds only: this answer is open to everyone, and names of topics and groups are not.
fn failing(hub: &Hub) -> BTreeMap<String, u64> {
    let mut failing = BTreeMap::new();
    for trouble in hub.failures().troubles() {
        *failing.entry(trouble.task.kind().to_owned()).or_default() += 1;
    }
    for (task, state) in hub.keeper.states() {
        if state.failed.is_some() {
            failing.entry(task.kind().to_owned()).or_insert(1);
        }
    }
    for flow in hub.flows.all().iter().filter(|flow| flow.status().state.is_unwell()) {
        *failing.entry(flow.kind().as_str().to_owned()).or_default() += 1;
    }
    failing
}
