//! `GET /flows/{kind}/{name}`: how one flow is doing.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_protocol::http::flows::{FlowKindView, FlowView};

use super::{find, kind_of, view};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::InPath;
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/flows/{kind}/{name}",
    operation_id = "getFlow",
    tag = "flows",
    summary = "Get a flow in detail",
    params(("kind" = FlowKindView, Path), ("name" = String, Path)),
    responses((status = 200, description = "The flow", body = FlowView), Problems),
)]
pub(in crate::http) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    InPath((kind, name)): InPath<(FlowKindView, String)>,
) -> Result<Json<FlowView>, Problem> {
    let flow = find(&api, &caller, Action::Ops, kind_of(kind), &name)?;
    Ok(Json(view(&*flow)))
}
