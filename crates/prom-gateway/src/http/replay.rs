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
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use prom_auth::Action;
use prom_engine::{BeyondEnd, Gap, TopicMask, TopicOffsets};
use prom_protocol::http::replay::{ReplayLive, ReplayPage, ReplayQuery};
use prom_protocol::position::PositionFields;
use prom_store::ReadLimit;
use prom_types::{Position, TopicName};

use super::api::Api;
use super::budget::BodyShare;
use super::caller::Caller;
use super::extract::Params;
use super::limits::{REPLAY_BYTES, REPLAY_EVENTS, REPLAY_MOST_EVENTS, REPLAY_PIECE_BYTES};
use super::problem::{Problem, Problems};
use super::replay_live;
use crate::Hub;

#[utoipa::path(
    get,
    path = "/replay",
    operation_id = "replay",
    tag = "events",
    summary = "Read retained events page by page",
    description = "With `live=sse` the answer does not end: it goes on with what is published, as server-sent events. The id of \
                   each is what `Last-Event-ID` takes to continue after it.",
    params(ReplayQuery, PositionFields),
    responses((status = 200, description = "A page", body = ReplayPage), Problems),
)]
pub(super) async fn replay(
    State(api): State<Arc<Api>>,
    caller: Caller,
    headers: HeaderMap,
    Params(ReplayQuery { topic, limit, next, live }): Params<ReplayQuery>,
    Params(position): Params<PositionFields>,
) -> Result<Response, Problem> {
    caller.may(Action::Subscribe, &topic)?;
    if let Some(ReplayLive::Sse) = live {
        let after = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        return replay_live::answer(api, caller, topic, limit, after.or(next), position.position()?).await;
    }
    let limit = limit.unwrap_or(REPLAY_EVENTS);
    if !(1..=REPLAY_MOST_EVENTS).contains(&limit) {
        return Err(Problem::field("limit", format_args!("must be between 1 and {REPLAY_MOST_EVENTS}")));
    }
    let share = api.budget.take(caller.holder(), 2 * REPLAY_PIECE_BYTES)?;
    let bus = &api.hub.bus;
    let from = match next {
        Some(next) => read_next(&next, bus.topic_settings(&topic).await?.partitions)?,
        None => bus.offsets(&topic, position.position()?.unwrap_or(Position::Earliest), BeyondEnd::Allow).await?,
    };
    let left = ReadLimit { events: limit, bytes: REPLAY_BYTES };
    let mask = caller.mask(&api.hub, &topic).await?;
    let mut page = PageInPieces {
        hub: api.hub.clone(),
        caller,
        mask,
        topic,
        from,
        left,
        written: 0,
        gaps: Vec::new(),
        ended: false,
        share,
    };
    // What is wrong with the request is found by the first read, and told by the status.
    let first = page.piece().await?;
    Ok(([(CONTENT_TYPE, "application/json")], Body::from_stream(page.starting_with(first))).into_response())
}

/// A page while it is written.
struct PageInPieces {
    hub: Arc<Hub>,
    caller: Caller,
    mask: Option<Arc<TopicMask>>,
    topic: TopicName,
    from: TopicOffsets,
    left: ReadLimit,
    written: usize,
    /// Of each partition at most one.
    gaps: Vec<Gap>,
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
            match &self.mask {
                Some(mask) => mask.seen(event.clone()).write_json(&mut json),
                None => event.write_json(&mut json),
            }
            self.written += 1;
        }
        self.gaps.extend(read.gaps);
        let has_moved = read.next != self.from;
        self.left.events = self.left.events.saturating_sub(read.events.len());
        self.left.bytes = self.left.bytes.saturating_sub(bytes);
        self.ended = read.at_end || !has_moved || self.left.events == 0 || self.left.bytes == 0;
        self.from = read.next;
        if self.ended {
            if !self.gaps.is_empty() {
                let gaps = serde_json::to_string(&self.gaps).unwrap_or_default();
                json.extend_from_slice(format!("],\"gaps\":{gaps}").as_bytes());
            } else {
                json.push(b']');
            }
            let end = format!(",\"count\":{},\"next\":\"{}\",\"end\":{}}}", self.written, self.from, read.at_end);
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

pub(super) fn read_next(text: &str, partitions: u32) -> Result<TopicOffsets, Problem> {
    let offsets = TopicOffsets::parse(text).filter(|offsets| offsets.0.len() <= partitions as usize);
    offsets.ok_or_else(|| Problem::field("next", "is not from an earlier page of this topic"))
}
