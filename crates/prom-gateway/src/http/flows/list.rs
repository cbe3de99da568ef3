//! `GET /flows`: all flows of this hub.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_protocol::http::flows::{FlowList, FlowsQuery};

use super::{kind_of, view};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::Params;
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/flows",
    operation_id = "listFlows",
    tag = "flows",
    summary = "List the flows of this hub",
    params(FlowsQuery),
    responses((status = 200, description = "The flows, by kind and name", body = FlowList), Problems),
)]
pub(in crate::http) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(FlowsQuery { kind }): Params<FlowsQuery>,
) -> Result<Json<FlowList>, Problem> {
    caller.may_everywhere(Action::Ops)?;
    let wanted = kind.map(kind_of);
    let mut flows = api.hub.flows.all();
    flows.retain(|flow| wanted.is_none_or(|kind| flow.kind() == kind));
    Ok(Json(FlowList { flows: flows.iter().map(|flow| view(&**flow)).collect() }))
}
