//! `POST /flows/{kind}/{name}/restart`: tries a flow again now. Audited with the caller.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_jobs::FlowAction;
use prom_protocol::http::flows::{ActedFlow, FlowKindView};
use serde_json::json;

use super::{FlowChange, change, find, kind_of};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::InPath;
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    post,
    path = "/flows/{kind}/{name}/restart",
    operation_id = "restartFlow",
    tag = "flows",
    summary = "Retry a flow now",
    description = "Also starts a flow that has stopped and waits for an operator. It continues where it was.",
    params(("kind" = FlowKindView, Path), ("name" = String, Path)),
    responses((status = 200, description = "What was done", body = ActedFlow), Problems),
)]
pub(in crate::http) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    InPath((kind, name)): InPath<(FlowKindView, String)>,
) -> Result<Json<ActedFlow>, Problem> {
    let flow = find(&api, &caller, Action::Admin, kind_of(kind), &name)?;
    let order = FlowChange { flow, action: FlowAction::Restart, audited: "restart_flow", details: json!({}) };
    Ok(Json(change(&api, &caller, order).await?))
}
