//! `DELETE /connections/{connection}`: ends a WebSocket connection. Audited with the caller.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use prom_auth::Action;
use prom_protocol::http::connections::CutConnection;
use serde_json::json;

use super::api::Api;
use super::caller::Caller;
use super::problem::{Code, Problem, Problems};

#[utoipa::path(
    delete,
    path = "/connections/{connection}",
    operation_id = "cutConnection",
    tag = "hub",
    summary = "End a WebSocket connection",
    description = "Its leases return to their groups at once. Our clients reconnect: to keep one out, revoke its token.",
    params(("connection" = String, Path)),
    responses((status = 200, description = "It ends", body = CutConnection), Problems),
)]
pub(super) async fn delete(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<CutConnection>, Problem> {
    caller.may_everywhere(Action::Admin)?;
    let missing = || {
        let detail = format!("this hub has no connection {name}; `GET /connections` lists those that it has");
        Problem::new(Code::UnknownId, detail)
    };
    let connection = api.hub.connections.find(&name).ok_or_else(missing)?;
    let (address, subscriptions) = (connection.peer.to_string(), connection.subscriptions().len() as u64);
    let mut work = caller.bus(&api.hub).unit_of_work();
    let of = connection.owner().subject;
    work.audit("disconnect", json!({ "connection": name, "address": address, "of": of.as_deref() }))?;
    work.commit().await?;
    connection.cut();
    Ok(Json(CutConnection { connection: name, address, subscriptions }))
}
