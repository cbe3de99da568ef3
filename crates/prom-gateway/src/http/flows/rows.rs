//! `GET /flows/outbox/{name}/rows`: rows of an outbox, without their payloads.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_jobs::{FlowKind, FlowRow, FlowRowQuery};
use prom_protocol::http::flows::{FlowRowList, FlowRowView, FlowRowsQuery};

use super::find;
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::{InPath, Params};
use crate::http::limits::{FLOW_ANSWER_TIMEOUT, FLOW_ROWS, FLOW_ROWS_HELD_BYTES, FLOW_ROWS_MOST};
use crate::http::problem::{Code, Problem, Problems};

#[utoipa::path(
    get,
    path = "/flows/outbox/{name}/rows",
    operation_id = "listOutboxRows",
    tag = "flows",
    summary = "List rows of an outbox, the oldest first",
    params(("name" = String, Path), FlowRowsQuery),
    responses((status = 200, description = "The rows", body = FlowRowList), Problems),
)]
pub(in crate::http) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    InPath(name): InPath<String>,
    Params(query): Params<FlowRowsQuery>,
) -> Result<Json<FlowRowList>, Problem> {
    let flow = find(&api, &caller, Action::Ops, FlowKind::Outbox, &name)?;
    let FlowRowsQuery { status, topic, key, id, limit } = query;
    let limit = limit.unwrap_or(FLOW_ROWS);
    if !(1..=FLOW_ROWS_MOST).contains(&limit) {
        return Err(Problem::field("limit", format_args!("must be between 1 and {FLOW_ROWS_MOST}")));
    }
    let status = status.map(|status| status.as_str().to_owned());
    let wanted = FlowRowQuery { status, ids: id.into_iter().collect(), topic, key, limit: Some(limit) };
    let _share = api.budget.take(caller.holder(), FLOW_ROWS_HELD_BYTES)?;
    let silent = |_| {
        let detail = format!("the database of outbox {name} does not answer; `GET /flows/outbox/{name}` says more");
        Problem::new(Code::Overloaded, detail)
    };
    let mut rows = tokio::time::timeout(FLOW_ANSWER_TIMEOUT, flow.rows(wanted)).await.map_err(silent)??;
    rows.truncate(limit);
    Ok(Json(FlowRowList { rows: rows.into_iter().map(row_view).collect(), outbox: name }))
}

fn row_view(row: FlowRow) -> FlowRowView {
    let FlowRow { id, topic, key, status, ts, attempts, last_err } = row;
    FlowRowView { id, topic, key, status, ts, attempts, last_err }
}
