//! `GET /healthz` says that the process answers, `GET /readyz` that it can take events. Both are open.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
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
    match api.hub.bus.ready(READY_TIMEOUT).await {
        Ok(()) => Ok(Json(Health { status: "ok" })),
        Err(error) => Err(Problem::new(Code::Overloaded, error.to_string())),
    }
}
