//! `POST /flows/outbox/{name}/drop`: lets go of rows in error, so that their keys go on. Audited with the caller.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_jobs::{FlowAction, FlowKind};
use prom_protocol::http::flows::{ActedFlow, ChooseFlowRows};

use super::{FlowChange, change, chosen, find};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::{InPath, JsonBody};
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    post,
    path = "/flows/outbox/{name}/drop",
    operation_id = "dropOutboxRows",
    tag = "flows",
    summary = "Drop rows in error",
    description = "They are never published, and later rows of their keys continue.",
    params(("name" = String, Path)),
    request_body = ChooseFlowRows,
    responses((status = 200, description = "What was done, and to how many rows", body = ActedFlow), Problems),
)]
pub(in crate::http) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    InPath(name): InPath<String>,
    body: JsonBody<ChooseFlowRows>,
) -> Result<Json<ActedFlow>, Problem> {
    let flow = find(&api, &caller, Action::Admin, FlowKind::Outbox, &name)?;
    let (rows, details) = chosen(body.read(&api).await?)?;
    let order = FlowChange { flow, action: FlowAction::Drop(rows), audited: "drop_rows", details };
    Ok(Json(change(&api, &caller, order).await?))
}
