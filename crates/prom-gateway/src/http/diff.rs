//! `GET /diff`: the keys of a topic that were made, changed or deleted between two times.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use prom_auth::Action;
use prom_engine::TopicMask;
use prom_jobs::{KeyChange, TimeTravel};
use prom_protocol::http::at::{DiffPage, DiffQuery, KeyChangeKind};
use prom_protocol::http::problem::ProblemDocument;

use super::api::Api;
use super::at::{end_page, keys_on_a_page, read_next, write_state};
use super::caller::Caller;
use super::extract::Params;
use super::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/diff",
    operation_id = "diff",
    tag = "events",
    summary = "Compare a topic's keys between two times",
    description = "A key that was created and deleted in between is left out.",
    params(DiffQuery),
    responses(
        (status = 200, description = "A page", body = DiffPage),
        (status = 410, description = "One of the times can no longer be answered", body = ProblemDocument, content_type = "application/problem+json"),
        Problems,
    ),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(DiffQuery { topic, from, to, limit, next }): Params<DiffQuery>,
) -> Result<Response, Problem> {
    caller.may(Action::Subscribe, &topic)?;
    let limit = keys_on_a_page(limit)?;
    if to < from {
        return Err(Problem::field("to", "is before `from`"));
    }
    let from_key = next.as_deref().map_or(Ok(String::new()), read_next)?;
    let _place = api.travels.take(&api, &caller)?;
    let mask = caller.mask(&api.hub, &topic).await?;
    let page = TimeTravel::new(&api.hub.bus, topic).changes(from, to, &from_key, limit).await?;
    let mut json = Vec::from(b"{\"items\":[");
    for (at, change) in page.items.iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        write_change(change, mask.as_deref(), &mut json)?;
    }
    end_page(page.next.as_deref(), &mut json);
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}

fn write_change(
    KeyChange { key, before, after }: &KeyChange,
    mask: Option<&TopicMask>,
    json: &mut Vec<u8>,
) -> Result<(), Problem> {
    let kind = match (before, after) {
        (None, _) => KeyChangeKind::Made,
        (_, None) => KeyChangeKind::Deleted,
        _ => KeyChangeKind::Changed,
    };
    let text = |value: serde_json::Result<String>| {
        value.map_err(|error| Problem::new(super::problem::Code::Internal, error.to_string()))
    };
    let (key, kind) = (text(serde_json::to_string(key))?, text(serde_json::to_string(&kind))?);
    json.extend_from_slice(format!("{{\"key\":{key},\"change\":{kind},\"before\":").as_bytes());
    write_state(before.as_ref(), mask, json);
    json.extend_from_slice(b",\"after\":");
    write_state(after.as_ref(), mask, json);
    json.push(b'}');
    Ok(())
}
