//! `GET /replay?live=sse`: history, then live, as server-sent events, for clients that have only HTTP.
//!
//! ```text
//!   id: 17.4           the next offset of each partition
//!   data: {event}
//!
//!   event: gap         events that retention removed before they could be sent
//!   data: {"event_topic":"a","partition":0,"from":3,"to":9,"reason":"retention"}
//! ```
//!
//! Promises: an id continues exactly behind its event, in every partition, so a client that comes again with `Last-Event-ID`
//! misses and doubles nothing; what is gone by then is told as a gap. Nothing is read before the client has taken what came
//! before. The stream ends with the token, and with the hub. It counts as a subscription of its subject, and while nothing is
//! published it holds none of the budget: thousands may listen.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::Stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use prom_engine::{BeyondEnd, Gap, StoredEvent, Tail, TopicOffsets};
use prom_types::{Position, TopicName};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::api::Api;
use super::budget::{BodyShare, Holder};
use super::caller::Caller;
use super::limits::{LIVE_COMMENT_EVERY, LIVE_EVENT_BYTES, LIVE_HELD_BYTES, LIVE_WAIT};
use super::problem::Problem;
use super::replay::read_next;
use crate::ws::CountedSubscription;

/// A stream while it runs.
struct LiveReplay {
    api: Arc<Api>,
    caller: Caller,
    tail: Tail,
    /// Behind what was sent.
    next: TopicOffsets,
    /// Events that may still be sent.
    left: usize,
    _counted: CountedSubscription,
}

/// Streams from `after`, which an earlier answer gave, else from the position.
pub(super) async fn answer(
    api: Arc<Api>,
    caller: Caller,
    topic: TopicName,
    limit: Option<usize>,
    after: Option<String>,
    position: Option<Position>,
) -> Result<Response, Problem> {
    let counted = CountedSubscription::new(&api.hub, caller.holder().as_ref());
    let counted = counted.map_err(|refused| Problem::new(refused.code, refused.msg))?;
    let bus = &api.hub.bus;
    let partitions = bus.topic_settings(&topic).await?.partitions;
    let mut next = match after {
        Some(after) => read_next(&after, partitions)?,
        None => bus.offsets(&topic, position.unwrap_or(Position::Earliest), BeyondEnd::Allow).await?,
    };
    next.0.resize(partitions as usize, 0);
    let mut tail = bus.tail(&topic).at(next.clone());
    if !caller.sees_whole(&topic) {
        tail = tail.masked();
    }
    let tail = tail.start().await?;
    let left = limit.unwrap_or(usize::MAX);
    let stream = LiveReplay { api, caller, tail, next, left, _counted: counted }.pieces();
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(stream)).into_response())
}

impl LiveReplay {
    fn pieces(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        // A first piece at once: the client knows that it is connected, also where nothing happens.
        let first = Bytes::from_static(b": connected\n\n");
        futures::stream::unfold((self, Some(first)), |(mut live, first)| async move {
            let piece = match first {
                Some(first) => first,
                None => live.piece().await?,
            };
            Some((Ok(piece), (live, None)))
        })
    }

    /// What came since the last one; `None` ends the stream.
    async fn piece(&mut self) -> Option<Bytes> {
        if self.left == 0 {
            return None;
        }
        let hub = self.api.hub.clone();
        let batch = tokio::select! {
            batch = timeout(LIVE_COMMENT_EVERY, self.tail.next_batch()) => batch,
            () = hub.stopped() => return None,
        };
        let share = match &batch {
            Ok(Ok(events)) => Some(share_for(&self.api, self.caller.holder(), events).await?),
            Err(_) | Ok(Err(_)) => None,
        };
        // Looked at after the waits: what was published since is only for those who may still read it.
        if self.caller.is_still_let_in(&hub).is_err() {
            return Some(self.end("jwt_expired", "the token has expired; reconnect with a fresh one"));
        }
        match batch {
            Err(_nothing_came) => Some(Bytes::from_static(b": nothing new\n\n")),
            Ok(Ok(events)) if events.is_empty() => None,
            Ok(Ok(events)) => {
                let mut text = Vec::new();
                self.tail.take_gaps().iter().for_each(|gap| self.write_gap(&mut text, gap));
                events.iter().take(self.left).for_each(|event| self.write(&mut text, event));
                self.left = self.left.saturating_sub(events.len());
                share.map(|share| share.hold(text))
            }
            Ok(Err(error)) => Some(self.end("internal", &error.to_string())),
        }
    }

    fn write(&mut self, out: &mut Vec<u8>, event: &StoredEvent) {
        self.pass(event.partition(), event.offset() + 1);
        let mut whole = Vec::with_capacity(event.record().len() + 256);
        event.write_json(&mut whole);
        write_message(out, None, Some(&self.next), &whole);
    }

    fn write_gap(&mut self, out: &mut Vec<u8>, gap: &Gap) {
        self.pass(gap.partition, gap.to);
        write_message(out, Some("gap"), Some(&self.next), json!(gap).to_string().as_bytes());
    }

    fn pass(&mut self, partition: u32, next: u64) {
        if let Some(at) = self.next.0.get_mut(partition as usize) {
            *at = next.max(*at);
        }
    }

    /// The last message says why.
    fn end(&mut self, code: &str, reason: &str) -> Bytes {
        self.left = 0;
        let mut text = Vec::new();
        write_message(&mut text, Some("end"), None, json!({ "code": code, "detail": reason }).to_string().as_bytes());
        text.into()
    }
}

/// For these events and their text. Where the budget is used up they wait: a stream does not end because others are busy.
async fn share_for(api: &Api, holder: &Holder, events: &[StoredEvent]) -> Option<BodyShare> {
    let bytes: usize = events.iter().map(|event| 2 * event.record().len() + LIVE_EVENT_BYTES).sum();
    let bytes = bytes.min(LIVE_HELD_BYTES);
    loop {
        if let Ok(share) = api.budget.take(holder, bytes) {
            return Some(share);
        }
        tokio::select! {
            () = sleep(LIVE_WAIT) => {}
            () = api.hub.stopped() => return None,
        }
    }
}

/// A payload may be written over several lines; each is a line of data, which the reader joins again.
fn write_message(out: &mut Vec<u8>, kind: Option<&str>, id: Option<&TopicOffsets>, data: &[u8]) {
    if let Some(kind) = kind {
        out.extend_from_slice(format!("event: {kind}\n").as_bytes());
    }
    if let Some(id) = id {
        out.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    for line in data.split(|byte| matches!(byte, b'\n' | b'\r')) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.push(b'\n');
}
