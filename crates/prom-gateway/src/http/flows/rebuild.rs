//! `POST /flows/projection/{name}/rebuild`: builds the collection of a projection anew. Audited with the caller.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_jobs::{FlowAction, FlowKind};
use prom_protocol::http::flows::ActedFlow;
use serde_json::json;

use super::{FlowChange, change, find};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::InPath;
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    post,
    path = "/flows/projection/{name}/rebuild",
    operation_id = "rebuildProjection",
    tag = "flows",
    summary = "Rebuild the collection of a projection",
    description = "Fills a new collection from the first retained event, beside the old one, then swaps them.",
    params(("name" = String, Path)),
    responses((status = 200, description = "What was begun", body = ActedFlow), Problems),
)]
pub(in crate::http) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    InPath(name): InPath<String>,
) -> Result<Json<ActedFlow>, Problem> {
    let flow = find(&api, &caller, Action::Admin, FlowKind::Projection, &name)?;
    let order = FlowChange { flow, action: FlowAction::Rebuild, audited: "rebuild_projection", details: json!({}) };
    Ok(Json(change(&api, &caller, order).await?))
}
