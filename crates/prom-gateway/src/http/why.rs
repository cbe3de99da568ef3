//! `GET /why`: what holds a group back, and what to do.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::dispatch::{Holdup, Limit, Oldest, Status};
use prom_engine::{PartitionWhy, Why};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::api::Api;
use super::caller::Caller;
use super::extract::{Params, group_name, required, topic_name};
use super::problem::{Problem, Problems};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct WhyParams {
    #[param(required = true)]
    topic: Option<String>,
    #[param(required = true)]
    group: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct WhyView {
    topic: String,
    group: String,
    partitions: Vec<PartitionWhyView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartitionWhyView {
    partition: u32,
    floor: u64,
    next: u64,
    lag_events: u64,
    /// The event that the floor stands at.
    #[schema(format = "uuid")]
    event: Option<String>,
    /// One line for people.
    explanation: String,
    /// What the dispatcher knows; none runs while nobody subscribes.
    status: Option<StatusView>,
}

/// The dispatcher at one moment.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusView {
    subscribers: usize,
    paused_subscribers: usize,
    in_flight: usize,
    /// Fresh, to be handed out.
    ready: usize,
    /// To be handed out before fresh ones.
    due: usize,
    /// Failed, until their backoff is over.
    waiting: usize,
    blocked_keys: usize,
    blocked_events: usize,
    ranges_above: usize,
    dead_letters_pending: usize,
    dead_letters_failing: usize,
    /// Which limit holds fresh events back: `rangesAbove`, `waiting` or `lookAhead`.
    limit: Option<&'static str>,
    oldest: Option<OldestView>,
}

/// The oldest unsettled event.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OldestView {
    offset: u64,
    /// `notScanned`, `ready`, `leased`, `waiting`, `deadLetterPending` or `deadLetterFailing`.
    state: &'static str,
    attempts: u32,
    returns: u32,
    /// Why it failed the last time.
    last_error: Option<String>,
}

#[utoipa::path(
    get,
    path = "/why",
    operation_id = "why",
    tag = "groups",
    summary = "What holds a group back",
    params(WhyParams),
    responses((status = 200, description = "What holds it back, partition by partition", body = WhyView), Problems),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(params): Params<WhyParams>,
) -> Result<Json<WhyView>, Problem> {
    let topic = topic_name(&required("topic", params.topic)?)?;
    let group = group_name(&required("group", params.group)?)?;
    caller.may_in_group(Action::Ops, &topic, &group)?;
    Ok(Json(api.hub.bus.why(&topic, &group).await?.into()))
}

impl From<Why> for WhyView {
    fn from(why: Why) -> Self {
        Self {
            topic: why.topic.to_string(),
            group: why.group.to_string(),
            partitions: why.partitions.into_iter().map(PartitionWhyView::from).collect(),
        }
    }
}

impl From<PartitionWhy> for PartitionWhyView {
    fn from(why: PartitionWhy) -> Self {
        Self {
            partition: why.partition,
            floor: why.floor,
            next: why.next,
            lag_events: why.lag_events,
            event: why.event.map(|id| id.to_string()),
            explanation: why.explanation,
            status: why.status.map(StatusView::from),
        }
    }
}

impl From<Status> for StatusView {
    fn from(status: Status) -> Self {
        Self {
            subscribers: status.subscribers,
            paused_subscribers: status.paused_subscribers,
            in_flight: status.in_flight,
            ready: status.ready,
            due: status.due,
            waiting: status.waiting,
            blocked_keys: status.blocked_keys,
            blocked_events: status.blocked_events,
            ranges_above: status.ranges_above,
            dead_letters_pending: status.dead_letters_pending,
            dead_letters_failing: status.dead_letters_failing,
            limit: status.limit.map(|limit| match limit {
                Limit::RangesAbove => "rangesAbove",
                Limit::Waiting => "waiting",
                Limit::LookAhead => "lookAhead",
            }),
            oldest: status.oldest.map(OldestView::from),
        }
    }
}

impl From<Oldest> for OldestView {
    fn from(oldest: Oldest) -> Self {
        Self {
            offset: oldest.offset,
            state: match oldest.holdup {
                Holdup::NotScanned => "notScanned",
                Holdup::Ready => "ready",
                Holdup::Leased { .. } => "leased",
                Holdup::Waiting { .. } => "waiting",
                Holdup::DeadLetterPending => "deadLetterPending",
                Holdup::DeadLetterFailing { .. } => "deadLetterFailing",
            },
            attempts: oldest.failures.attempts,
            returns: oldest.failures.returns,
            last_error: oldest.failures.reason,
        }
    }
}
