//! `GET /trace/{id}`: what led to an event, what it led to, and how groups did with it.
//!
//! Needs `subscribe` on the topic of the event; the tree ends at what the token does not cover. How a group does with an event is
//! told to those who have `ops` there. An event that is not there and one that may not be read get the same answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use prom_auth::Action;
use prom_engine::StandingState;
use prom_jobs::{TraceDelivery, TraceEvent, TraceLetter, TraceNode, TracePlace, TraceRights};
use prom_protocol::http::trace::{
    TraceAnswer, TraceDeliveryView, TraceEventView, TraceLetterView, TraceNodeView, TraceQuery, TraceState,
};
use prom_types::{EventId, GroupName, TopicName};

use super::api::Api;
use super::caller::Caller;
use super::extract::Params;
use super::problem::{Code, Problem, Problems};

#[utoipa::path(
    get,
    path = "/trace/{id}",
    operation_id = "trace",
    tag = "events",
    summary = "Get the causes and effects of an event",
    description = "A tree over `caused_by`, from an index. How groups did with each event is told with the right `ops`, as far as it \
                   is stored: failures are known until an event is settled.",
    params(("id" = EventId, Path), TraceQuery),
    responses((status = 200, description = "The tree", body = TraceAnswer), Problems),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    path: Result<Path<String>, PathRejection>,
    Params(TraceQuery { topic }): Params<TraceQuery>,
) -> Result<Json<TraceAnswer>, Problem> {
    caller.may_somewhere(Action::Subscribe)?;
    let Path(id) = path?;
    let id = EventId::parse(&id).map_err(|error| Problem::field("id", error))?;
    let place = api.traces.take(&api, &caller)?;
    let traced = api.hub.tracer.trace(&api.hub.bus, id, topic.as_ref(), &Rights(&caller)).await?;
    drop(place);
    let Some(trace) = traced else {
        let detail = format!(
            "event {id} is in no topic that this caller may read; if it was published long ago, name its topic with ?topic="
        );
        return Err(Problem::new(Code::UnknownId, detail));
    };
    let (hidden, cut, behind) = (trace.hidden, trace.is_cut, trace.behind);
    Ok(Json(TraceAnswer { trace: node(trace.root), behind, hidden, cut }))
}

struct Rights<'a>(&'a Caller);

impl TraceRights for Rights<'_> {
    fn may_read(&self, topic: &TopicName) -> bool {
        self.0.may(Action::Subscribe, topic).is_ok()
    }

    fn may_see(&self, topic: &TopicName, group: &GroupName) -> bool {
        self.0.may_in_group(Action::Ops, topic, group).is_ok()
    }

    fn may_see_whole(&self, topic: &TopicName) -> bool {
        self.0.sees_whole(topic)
    }
}

fn node(TraceNode { id, event, is_repeated, causes, effects }: TraceNode) -> TraceNodeView {
    TraceNodeView {
        id,
        event: event.map(event_view),
        repeated: is_repeated,
        causes: causes.into_iter().map(node).collect(),
        effects: effects.into_iter().map(node).collect(),
    }
}

fn event_view(TraceEvent { place, is_retained, ts, stored_ts, key, deliveries }: TraceEvent) -> TraceEventView {
    TraceEventView {
        topic: place.topic,
        partition: place.partition,
        offset: place.offset,
        retained: is_retained,
        ts,
        stored_ts,
        key,
        deliveries: deliveries.into_iter().map(delivery).collect(),
    }
}

fn delivery(TraceDelivery { standing, letter }: TraceDelivery) -> TraceDeliveryView {
    TraceDeliveryView {
        group: standing.group,
        state: match standing.state {
            StandingState::Settled => TraceState::Settled,
            StandingState::InFlight => TraceState::InFlight,
            StandingState::Waiting => TraceState::Waiting,
            StandingState::Queued => TraceState::Queued,
            StandingState::Dead => TraceState::Dead,
        },
        attempts: standing.failures.attempts,
        returns: standing.failures.returns,
        reason: standing.failures.reason,
        member: standing.member,
        served_by: standing.served_by,
        letter: letter.map(letter_view),
    }
}

fn letter_view(TraceLetter { id, place, err, attempts, ts, replayed }: TraceLetter) -> TraceLetterView {
    let replayed = replayed.into_iter().map(node).collect();
    let TracePlace { topic, partition, offset } = place;
    TraceLetterView { id, topic, partition, offset, err, attempts, ts, replayed }
}
