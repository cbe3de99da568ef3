//! `GET /healthz` says that the process answers, `GET /readyz` that it can take events. Both are open.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_engine::Error;
use prom_store::Commit;
use prom_types::Json as Payload;
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
    // A publish that cannot be admitted stores nothing, and a bus that is closed says so first.
    if let Err(error @ Error::Closed) = bus.publish("", Payload::NULL).await {
        return Err(not_ready(error.to_string()));
    }
    match timeout(READY_TIMEOUT, bus.store().commit(Commit::default())).await {
        Ok(Ok(_)) => Ok(Json(Health { status: "ok" })),
        Ok(Err(error)) => Err(not_ready(error.to_string())),
        Err(_) => Err(not_ready(format!("the store did not answer within {} s", READY_TIMEOUT.as_secs()))),
    }
}
