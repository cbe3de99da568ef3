//! `GET /healthz` says that the process answers, `GET /readyz` that it can take events. Both are open.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_store::Commit;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::api::Api;
use super::limits::READY_TIMEOUT;
use super::problem::{Code, Document, Problem};

#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`
    #[schema(example = "ok")]
    status: &'static str,
}

#[utoipa::path(
    get,
    path = "/healthz",
    operation_id = "healthz",
    tag = "hub",
    summary = "The process answers",
    security(()),
    responses((status = 200, description = "It does", body = Health)),
)]
pub(super) async fn healthz() -> Json<Health> {
    Json(Health { status: "ok" })
}

#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "readyz",
    tag = "hub",
    summary = "The hub takes events",
    security(()),
    responses(
        (status = 200, description = "It does", body = Health),
        (status = 503, description = "Not now; `detail` says why", body = Document, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn readyz(State(api): State<Arc<Api>>) -> Result<Json<Health>, Problem> {
    let not_ready = |reason: String| Problem::new(Code::Overloaded, format!("not ready: {reason}"));
    let bus = &api.hub.bus;
    if !bus.is_open() {
        return Err(not_ready("the hub is shutting down".to_owned()));
    }
    if let Some(trouble) = bus.store().trouble() {
        return Err(not_ready(trouble));
    }
    match timeout(READY_TIMEOUT, bus.store().commit(Commit::default())).await {
        Ok(Ok(_)) => Ok(Json(Health { status: "ok" })),
        Ok(Err(error)) => Err(not_ready(error.to_string())),
        Err(_) => Err(not_ready(format!("the store did not answer within {} s", READY_TIMEOUT.as_secs()))),
    }
}
