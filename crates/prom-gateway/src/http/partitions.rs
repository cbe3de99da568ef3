//! `GET /partitions`: who serves the partitions of a topic for a group.
//!
//! In shared mode every subscriber takes from every partition: there are no owners and no generation, and
//! the epoch counts how often another dispatcher took over. Virtual partitions share a log, so `GET /lag`
//! shows their progress as that of the topic.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{MemberStatus, PartitionOwner, PartitionWhy};
use prom_protocol::http::GroupInTopic;
use prom_protocol::http::partitions::{GroupPartitionView, MemberView, PartitionList};
use prom_types::Mode;

use super::api::Api;
use super::caller::Caller;
use super::extract::Params;
use super::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/partitions",
    operation_id = "listPartitions",
    tag = "groups",
    summary = "Get the owners of a topic's partitions",
    params(GroupInTopic),
    responses((status = 200, description = "The partitions", body = PartitionList), Problems),
)]
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(GroupInTopic { topic, group }): Params<GroupInTopic>,
) -> Result<Json<PartitionList>, Problem> {
    caller.may_in_group(Action::Ops, &topic, &group)?;
    let bus = &api.hub.bus;
    let why = bus.why(&topic, &group).await?;
    let info = bus.group(&group).await?;
    let (mut generation, mut members, mut is_virtual) = (None, Vec::new(), false);
    let mut partitions = Vec::with_capacity(why.partitions.len());
    match why.owners {
        Some(owners) => {
            (generation, is_virtual) = (Some(owners.generation), owners.virtual_partitions);
            members = owners.members.into_iter().map(member_view).collect();
            partitions.extend(owners.partitions.into_iter().map(|one| owned(one, &why.partitions)));
        }
        None => partitions.extend(why.partitions.iter().map(shared)),
    }
    let subscriptions = info.iter().flat_map(|info| &info.subscriptions);
    let reading = subscriptions.into_iter().find(|one| one.topics.iter().any(|pattern| pattern.matches(&topic)));
    let mode = reading.map_or(Mode::default(), |one| one.options.mode);
    Ok(Json(PartitionList { topic, group, mode, generation, is_virtual, members, partitions }))
}

fn shared(why: &PartitionWhy) -> GroupPartitionView {
    GroupPartitionView {
        partition: why.partition,
        owner: None,
        moving_to: None,
        epoch: Some(why.epoch).filter(|epoch| *epoch > 0),
        floor: Some(why.floor),
        next: Some(why.next),
        lag_events: Some(why.lag_events),
        in_flight: why.status.as_ref().map_or(0, |status| status.in_flight) as u64,
        subscribers: why.status.as_ref().map_or(0, |status| status.subscribers) as u64,
    }
}

/// A partition of the topic has a log of its own; a virtual one is a lane in the only log.
fn owned(one: PartitionOwner, logs: &[PartitionWhy]) -> GroupPartitionView {
    let log = logs.iter().find(|log| log.partition == one.partition).filter(|_| logs.len() > 1);
    let only = logs.first().filter(|_| logs.len() == 1);
    let lanes = only.and_then(|only| only.status.as_ref()).map_or(&[][..], |status| &status.lanes);
    let lane = lanes.iter().find(|lane| lane.lane == one.partition);
    // A topic that is not divided has one partition, and everything in the log is its own.
    let log = log.or(only.filter(|_| lanes.len() <= 1));
    let in_log = |log: &PartitionWhy| log.status.as_ref().map_or(0, |status| status.in_flight);
    GroupPartitionView {
        partition: one.partition,
        epoch: Some(one.epoch),
        floor: log.map(|log| log.floor),
        next: log.map(|log| log.next),
        lag_events: log.map(|log| log.lag_events),
        in_flight: lane.map(|lane| lane.in_flight).or(log.map(in_log)).unwrap_or_default() as u64,
        subscribers: u64::from(one.owner.is_some()),
        owner: one.owner,
        moving_to: one.moving_to,
    }
}

fn member_view(member: MemberStatus) -> MemberView {
    MemberView {
        member: member.member,
        weight: member.weight,
        pins: member.pins,
        ttl_ms: member.ttl_ms,
        meta: member.meta.and_then(|text| serde_json::from_str(&text).ok()),
        partitions: member.partitions,
    }
}
