//! `POST /flows/feed/{name}/seek`: moves a feed to a time or a token. Audited with the caller.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_jobs::{FlowAction, FlowKind, FlowSeek};
use prom_protocol::http::flows::{ActedFlow, SeekFeed};
use serde_json::json;

use super::{FlowChange, change, find};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::{InPath, JsonBody};
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    post,
    path = "/flows/feed/{name}/seek",
    operation_id = "seekFeed",
    tag = "flows",
    summary = "Move a feed to a time or a token",
    description = "Forward leaves out what lies between. Back reads it again: a change whose event is still retained is not \
                   published twice.",
    params(("name" = String, Path)),
    request_body = SeekFeed,
    responses((status = 200, description = "Where the feed continues", body = ActedFlow), Problems),
)]
pub(in crate::http) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    InPath(name): InPath<String>,
    body: JsonBody<SeekFeed>,
) -> Result<Json<ActedFlow>, Problem> {
    let flow = find(&api, &caller, Action::Admin, FlowKind::Feed, &name)?;
    let SeekFeed { at, token } = body.read(&api).await?;
    let details = json!({ "at": at, "token": token });
    let seek = match (at, token) {
        (Some(at), None) if at < 0 => return Err(Problem::field("at", "is before 1970; give epoch milliseconds")),
        (Some(at), None) => FlowSeek::Time(at),
        (None, Some(token)) if token.trim().is_empty() => return Err(Problem::field("token", "is empty")),
        (None, Some(token)) => FlowSeek::Token(token),
        (None, None) => return Err(Problem::field("at", "is missing; give a time, or a token")),
        (Some(_), Some(_)) => return Err(Problem::field("token", "excludes `at`; give a time or a token")),
    };
    let order = FlowChange { flow, action: FlowAction::Seek(seek), audited: "seek_feed", details };
    Ok(Json(change(&api, &caller, order).await?))
}
