//! `GET /at`: a topic as it was at a time, one key or all of them.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::CONTENT_TYPE;
use prom_auth::Action;
use prom_engine::TopicMask;
use prom_jobs::{KeyState, TimeTravel};
use prom_protocol::http::at::{AtPage, AtQuery};
use prom_protocol::http::problem::ProblemDocument;

use super::api::Api;
use super::caller::Caller;
use super::extract::Params;
use super::limits::{TRAVEL_KEYS, TRAVEL_MOST_KEYS};
use super::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/at",
    operation_id = "at",
    tag = "events",
    summary = "Get the state of a topic at an earlier time",
    description = "With `key`: the event that was its newest at `ts`, or `null` if there was none or it was deleted. Without: a page \
                   of the newest events of all live keys. Answers are what a replay of everything would give; where retention or \
                   compaction removed what that takes, it is 410 with `earliest_ts`.",
    params(AtQuery),
    responses(
        (status = 200, description = "The event or `null`; a page without `key`", body = AtPage),
        (status = 410, description = "That time can no longer be answered", body = ProblemDocument, content_type = "application/problem+json"),
        Problems,
    ),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(AtQuery { topic, ts, key, limit, next }): Params<AtQuery>,
) -> Result<Response, Problem> {
    caller.may(Action::Subscribe, &topic)?;
    let limit = keys_on_a_page(limit)?;
    let from_key = next.as_deref().map_or(Ok(String::new()), read_next)?;
    let _place = api.travels.take(&api, &caller)?;
    let mask = caller.mask(&api.hub, &topic).await?;
    let mask = mask.as_deref();
    let travel = TimeTravel::new(&api.hub.bus, topic);
    let mut json = Vec::new();
    if let Some(key) = key {
        write_state(travel.key_at(ts, &key).await?.as_ref(), mask, &mut json);
    } else {
        let page = travel.keys_at(ts, &from_key, limit).await?;
        json.extend_from_slice(b"{\"items\":[");
        for (at, state) in page.items.iter().enumerate() {
            if at > 0 {
                json.push(b',');
            }
            write_state(Some(state), mask, &mut json);
        }
        end_page(page.next.as_deref(), &mut json);
    }
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}

pub(super) fn keys_on_a_page(limit: Option<usize>) -> Result<usize, Problem> {
    let limit = limit.unwrap_or(TRAVEL_KEYS);
    if (1..=TRAVEL_MOST_KEYS).contains(&limit) {
        return Ok(limit);
    }
    Err(Problem::field("limit", format_args!("must be between 1 and {TRAVEL_MOST_KEYS}")))
}

/// Keys may hold anything, so a page's beginning is written in letters.
pub(super) fn read_next(text: &str) -> Result<String, Problem> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let key = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    key.ok_or_else(|| Problem::field("next", "is not from an earlier page"))
}

pub(super) fn end_page(next: Option<&str>, json: &mut Vec<u8>) {
    json.extend_from_slice(b"],\"next\":");
    match next {
        Some(key) => {
            json.push(b'"');
            json.extend_from_slice(URL_SAFE_NO_PAD.encode(key).as_bytes());
            json.extend_from_slice(b"\"}");
        }
        None => json.extend_from_slice(b"null}"),
    }
}

/// The event as the caller may see it.
pub(super) fn write_state(state: Option<&KeyState>, mask: Option<&TopicMask>, json: &mut Vec<u8>) {
    let event = state.and_then(|state| state.event.as_deref()).unwrap_or(b"null");
    match mask.and_then(|mask| mask.seen_text(event)) {
        Some(seen) => json.extend_from_slice(&seen),
        None => json.extend_from_slice(event),
    }
}
