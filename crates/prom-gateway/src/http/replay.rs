//! `GET /replay`: retained events again, page by page.
//!
//! Partition by partition in offset order, as an export. `next` continues where a page ended. After the
//! end was reached it brings what was published since.
//!
//! Promise: a page leaves in pieces, each read when the client has taken the one before, so a client that reads
//! nothing pins one piece. A page that cannot continue breaks off without a proper end.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt};
use http::header::CONTENT_TYPE;
use prom_auth::Action;
use prom_engine::{BeyondEnd, TopicOffsets};
use prom_protocol::http::replay::{ReplayPage, ReplayQuery};
use prom_protocol::position::PositionFields;
use prom_store::ReadLimit;
use prom_types::{Position, TopicName};

use super::api::Api;
use super::budget::BodyShare;
use super::caller::Caller;
use super::extract::Params;
use super::limits::{REPLAY_BYTES, REPLAY_EVENTS, REPLAY_MOST_EVENTS, REPLAY_PIECE_BYTES};
use super::problem::{Problem, Problems};
use crate::Hub;

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
    let share = api.budget.take(2 * REPLAY_PIECE_BYTES)?;
    let bus = &api.hub.bus;
    let from = match next {
        Some(next) => read_next(&next, bus.topic_settings(&topic).await?.partitions)?,
        None => bus.offsets(&topic, position.position()?.unwrap_or(Position::Earliest), BeyondEnd::Allow).await?,
    };
    let left = ReadLimit { events: limit, bytes: REPLAY_BYTES };
    let mut page = PageInPieces { hub: api.hub.clone(), caller, topic, from, left, written: 0, ended: false, share };
    // What is wrong with the request is found by the first read, and told by the status.
    let first = page.piece().await?;
    Ok(([(CONTENT_TYPE, "application/json")], Body::from_stream(page.starting_with(first))).into_response())
}

/// A page while it is written.
struct PageInPieces {
    hub: Arc<Hub>,
    caller: Caller,
    topic: TopicName,
    from: TopicOffsets,
    left: ReadLimit,
    written: usize,
    ended: bool,
    share: BodyShare,
}

impl PageInPieces {
    /// The next events, with what belongs before the first and after the last.
    async fn piece(&mut self) -> Result<Vec<u8>, Problem> {
        self.caller.is_still_let_in(&self.hub)?;
        let limit = ReadLimit { bytes: self.left.bytes.min(REPLAY_PIECE_BYTES), ..self.left };
        let read = self.hub.bus.read_topic(&self.topic, self.from.clone(), limit).await?;
        for damage in &read.damage {
            tracing::warn!(topic = %self.topic, %damage, "a replay passes over what cannot be read");
        }
        let bytes: usize = read.events.iter().map(|event| event.record().len()).sum();
        self.share.grow_to(2 * bytes)?;
        let mut json = Vec::with_capacity(bytes + bytes / 4);
        if self.written == 0 {
            json.extend_from_slice(format!("{{\"topic\":\"{}\",\"events\":[", self.topic).as_bytes());
        }
        for event in &read.events {
            if self.written > 0 {
                json.push(b',');
            }
            event.write_json(&mut json);
            self.written += 1;
        }
        let has_moved = read.next != self.from;
        self.left.events = self.left.events.saturating_sub(read.events.len());
        self.left.bytes = self.left.bytes.saturating_sub(bytes);
        self.ended = read.at_end || !has_moved || self.left.events == 0 || self.left.bytes == 0;
        self.from = read.next;
        if self.ended {
            let end = format!("],\"count\":{},\"next\":\"{}\",\"end\":{}}}", self.written, self.from, read.at_end);
            json.extend_from_slice(end.as_bytes());
        }
        Ok(json)
    }

    fn starting_with(self, first: Vec<u8>) -> impl Stream<Item = Result<Vec<u8>, BrokenOff>> + use<> {
        let rest = futures::stream::unfold(self, |mut page| async move {
            if page.ended {
                return None;
            }
            let piece = page.piece().await.map_err(|problem| {
                page.ended = true;
                let reason = problem.into_document().detail;
                tracing::warn!(topic = %page.topic, reason, "a replay broke off");
                BrokenOff(reason)
            });
            Some((piece, page))
        });
        futures::stream::iter([Ok(first)]).chain(rest)
    }
}

/// Why a replay broke off. The client only sees that it did; the log says why.
#[derive(Debug, thiserror::Error)]
#[error("the replay broke off: {0}")]
struct BrokenOff(String);

fn read_next(text: &str, partitions: u32) -> Result<TopicOffsets, Problem> {
    let offsets = TopicOffsets::parse(text).filter(|offsets| offsets.0.len() <= partitions as usize);
    offsets.ok_or_else(|| Problem::field("next", "is not what an earlier page of this topic gave"))
}
