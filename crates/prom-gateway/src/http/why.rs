//! `GET /why`: what holds a group back, and what to do. Why an event failed may quote it, so from those who do not see the
//! topic's events whole the reasons are hidden.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::dispatch::{DispatchStatus, Holdup, Limit, Oldest};
use prom_engine::{HeldLease, Why, WhyAction};
use prom_protocol::http::GroupInTopic;
use prom_protocol::http::why::{
    DispatchLimit, DispatcherView, HeldLeaseView, OldestState, OldestView, PartitionWhyView, WhyActionView, WhyView,
};

use super::api::Api;
use super::caller::Caller;
use super::extract::Params;
use super::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/why",
    operation_id = "why",
    tag = "groups",
    summary = "Explain what holds a group back",
    params(GroupInTopic),
    responses((status = 200, description = "What holds it back, partition by partition", body = WhyView), Problems),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(GroupInTopic { topic, group }): Params<GroupInTopic>,
) -> Result<Json<WhyView>, Problem> {
    caller.may_in_group(Action::Ops, &topic, &group)?;
    // Asked first: the hub that serves the group may be another one, which has to hide it too.
    let mask = caller.mask(&api.hub, &topic).await?;
    let why = api.hub.bus.why(&topic, &group).await?;
    Ok(Json(view(if mask.is_some() { why.without_reasons() } else { why })))
}

fn view(why: Why) -> WhyView {
    let partitions = why.partitions.into_iter().map(|partition| PartitionWhyView {
        partition: partition.partition,
        floor: partition.floor,
        next: partition.next,
        lag_events: partition.lag_events,
        event: partition.event,
        key: partition.key,
        held: partition.held.into_iter().map(held).collect(),
        actions: partition.actions.into_iter().map(action).collect(),
        parked_keys: partition.parked_keys,
        explanation: partition.explanation,
        status: partition.status.map(dispatcher),
    });
    WhyView { dead_letters: why.dead_letters, partitions: partitions.collect(), topic: why.topic, group: why.group }
}

fn held(lease: HeldLease) -> HeldLeaseView {
    HeldLeaseView {
        offset: lease.offset,
        id: lease.id,
        key: lease.key,
        member: lease.member,
        subject: lease.subject,
        address: lease.address,
        held_ms: millis(lease.held_for),
        renewals: lease.renewals,
        expires_in_ms: millis(lease.expires_in),
        attempts: lease.failures.attempts,
        returns: lease.failures.returns,
        last_error: lease.failures.reason,
    }
}

fn action(WhyAction { what, command }: WhyAction) -> WhyActionView {
    WhyActionView { what: what.to_owned(), command }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn dispatcher(status: DispatchStatus) -> DispatcherView {
    DispatcherView {
        subscribers: status.subscribers as u64,
        paused_subscribers: status.paused_subscribers as u64,
        in_flight: status.in_flight as u64,
        ready: status.ready as u64,
        due: status.due as u64,
        waiting: status.waiting as u64,
        blocked_keys: status.blocked_keys as u64,
        blocked_events: status.blocked_events as u64,
        ranges_above: status.ranges_above as u64,
        given_back: status.given as u64,
        dead_letters_pending: status.dead_letters_pending as u64,
        dead_letters_failing: status.dead_letters_failing as u64,
        limit: status.limit.map(|limit| match limit {
            Limit::RangesAbove => DispatchLimit::RangesAbove,
            Limit::Waiting => DispatchLimit::Waiting,
            Limit::LookAhead => DispatchLimit::LookAhead,
            Limit::Filter => DispatchLimit::Filter,
            Limit::ParkedKeys => DispatchLimit::ParkedKeys,
        }),
        oldest: status.oldest.map(oldest),
    }
}

fn oldest(oldest: Oldest) -> OldestView {
    OldestView {
        offset: oldest.offset,
        state: match oldest.holdup {
            Holdup::NotScanned => OldestState::NotScanned,
            Holdup::Ready => OldestState::Ready,
            Holdup::Leased { .. } => OldestState::Leased,
            Holdup::Waiting { .. } => OldestState::Waiting,
            Holdup::DeadLetterPending => OldestState::DeadLetterPending,
            Holdup::DeadLetterFailing { .. } => OldestState::DeadLetterFailing,
            Holdup::WithoutRoomToPark => OldestState::WithoutRoomToPark,
        },
        attempts: oldest.failures.attempts,
        returns: oldest.failures.returns,
        last_error: oldest.failures.reason,
    }
}
