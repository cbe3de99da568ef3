//! `GET /replay`: retained events again, page by page.
//!
//! Partition by partition in offset order, as an export. `next` continues where a page ended. After the
//! end was reached it brings what was published since.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use prom_auth::Action;
use prom_engine::{BeyondEnd, TopicOffsets, TopicPage};
use prom_protocol::http::replay::{ReplayPage, ReplayQuery};
use prom_protocol::position::PositionFields;
use prom_store::ReadLimit;
use prom_types::Position;

use super::api::Api;
use super::caller::Caller;
use super::extract::Params;
use super::limits::{REPLAY_BYTES, REPLAY_EVENTS, REPLAY_MOST_EVENTS};
use super::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/replay",
    operation_id = "replay",
    tag = "events",
    summary = "Read retained events page by page",
    params(ReplayQuery, PositionFields),
    responses((status = 200, description = "A page", body = ReplayPage), Problems),
)]
pub(super) async fn replay(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(ReplayQuery { topic, limit, next }): Params<ReplayQuery>,
    Params(position): Params<PositionFields>,
) -> Result<Response, Problem> {
    caller.may(Action::Subscribe, &topic)?;
    let limit = limit.unwrap_or(REPLAY_EVENTS);
    if !(1..=REPLAY_MOST_EVENTS).contains(&limit) {
        return Err(Problem::field("limit", format_args!("must be between 1 and {REPLAY_MOST_EVENTS}")));
    }
    let bus = &api.hub.bus;
    let from = match next {
        Some(next) => read_next(&next, bus.topic_settings(&topic).await?.partitions)?,
        None => bus.offsets(&topic, position.position()?.unwrap_or(Position::Earliest), BeyondEnd::Allow).await?,
    };
    let page = bus.read_topic(&topic, from, ReadLimit { events: limit, bytes: REPLAY_BYTES }).await?;
    for damage in &page.damage {
        tracing::warn!(%topic, %damage, "a replay passes over what cannot be read");
    }
    Ok(([(CONTENT_TYPE, "application/json")], page_json(&topic, &page)).into_response())
}

fn page_json(topic: &str, page: &TopicPage) -> Vec<u8> {
    let mut json = format!("{{\"topic\":\"{topic}\",\"count\":{},\"events\":[", page.events.len()).into_bytes();
    for (at, event) in page.events.iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        event.write_json(&mut json);
    }
    json.extend_from_slice(format!("],\"next\":\"{}\",\"end\":{}}}", page.next, page.at_end).as_bytes());
    json
}

fn read_next(text: &str, partitions: u32) -> Result<TopicOffsets, Problem> {
    let offsets = TopicOffsets::parse(text).filter(|offsets| offsets.0.len() <= partitions as usize);
    offsets.ok_or_else(|| Problem::field("next", "is not what an earlier page of this topic gave"))
}
