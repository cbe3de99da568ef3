//! `GET /replay`: retained events again, page by page.
//!
//! Partition by partition in offset order, as an export. `next` goes on where a page ended, also
//! after the end was reached: then it brings what was published since.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use prom_auth::Action;
use prom_engine::{BeyondEnd, Position, TopicOffsets, TopicPage};
use prom_store::ReadLimit;
use serde::Deserialize;
use utoipa::IntoParams;

use super::api::Api;
use super::caller::Caller;
use super::extract::{Params, required, topic_name};
use super::limits::{REPLAY_BYTES, REPLAY_EVENTS, REPLAY_MOST_EVENTS};
use super::position::Asked;
use super::problem::{Problem, Problems};
use super::schema::ReplayPage;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplayParams {
    #[param(required = true)]
    topic: Option<String>,
    /// `earliest` (default), `latest`, `ts`, `afterId` or `offset`.
    from: Option<String>,
    /// With `from=ts`: the first event stored at or after this, in epoch milliseconds.
    ts: Option<i64>,
    /// With `from=afterId`: the events after this one.
    after_id: Option<String>,
    /// With `from=offset`: in every partition.
    offset: Option<u64>,
    /// At most so many events, 1 to 10 000; 1000 unless given.
    limit: Option<usize>,
    /// Where an earlier page ended; wins over `from`.
    next: Option<String>,
}

#[utoipa::path(
    get,
    path = "/replay",
    operation_id = "replay",
    tag = "events",
    summary = "Read retained events page by page",
    params(ReplayParams),
    responses((status = 200, description = "A page", body = ReplayPage), Problems),
)]
pub(super) async fn replay(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(params): Params<ReplayParams>,
) -> Result<Response, Problem> {
    let topic = topic_name(&required("topic", params.topic)?)?;
    caller.may(Action::Subscribe, &topic)?;
    let limit = params.limit.unwrap_or(REPLAY_EVENTS);
    if !(1..=REPLAY_MOST_EVENTS).contains(&limit) {
        return Err(Problem::field("limit", format_args!("must be between 1 and {REPLAY_MOST_EVENTS}")));
    }
    let bus = &api.hub.bus;
    let asked = Asked { from: params.from, ts: params.ts, after_id: params.after_id, offset: params.offset };
    let from = match params.next {
        Some(next) => read_next(&next, bus.topic_settings(&topic).await?.partitions)?,
        None => bus.offsets(&topic, asked.position()?.unwrap_or(Position::Earliest), BeyondEnd::Allow).await?,
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
