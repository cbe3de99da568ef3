//! `GET /partitions`: who serves the partitions of a topic for a group.
//!
//! In shared mode nobody owns a partition: every subscriber takes from every one of them, so there
//! are no owners and no generation, and the epoch tells how often dispatching was taken over. Virtual
//! partitions share a log, so how far they are is told of the topic, by `GET /lag`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{MemberStatus, Mode, PartitionOwner, PartitionWhy};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::api::Api;
use super::caller::Caller;
use super::extract::{Params, group_name, required, topic_name};
use super::groups;
use super::problem::{Problem, Problems};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PartitionParams {
    #[param(required = true)]
    topic: Option<String>,
    #[param(required = true)]
    group: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct PartitionList {
    topic: String,
    group: String,
    #[schema(example = "shared")]
    mode: &'static str,
    /// Counts changes of members and partitions since the hub started; `null` in shared mode.
    generation: Option<u64>,
    /// The group divides a topic of one partition into these.
    #[serde(rename = "virtual")]
    is_virtual: bool,
    /// Empty in shared mode.
    members: Vec<MemberView>,
    partitions: Vec<PartitionView>,
}

/// A member and what it has.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemberView {
    member: String,
    weight: u32,
    pins: Vec<u32>,
    /// How long it may be silent.
    ttl_ms: Option<u64>,
    /// What it says about itself.
    #[schema(value_type = Object)]
    meta: Option<serde_json::Value>,
    partitions: Vec<u32>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = GroupPartition)]
pub(crate) struct PartitionView {
    partition: u32,
    /// The member that has it; `null` in shared mode.
    owner: Option<String>,
    /// The owner finishes what it holds, and this one follows.
    moving_to: Option<String>,
    /// Raised by a change of the owner, in shared mode when dispatching is taken over or the cursor is
    /// moved; `null` before the first time.
    epoch: Option<u64>,
    /// Everything before it is settled; `null` for a virtual partition.
    floor: Option<u64>,
    next: Option<u64>,
    lag_events: Option<u64>,
    in_flight: usize,
    /// Subscribers that take from it.
    subscribers: usize,
}

#[utoipa::path(
    get,
    path = "/partitions",
    operation_id = "listPartitions",
    tag = "groups",
    summary = "Who serves the partitions of a topic",
    params(PartitionParams),
    responses((status = 200, description = "The partitions", body = PartitionList), Problems),
)]
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(params): Params<PartitionParams>,
) -> Result<Json<PartitionList>, Problem> {
    let topic = topic_name(&required("topic", params.topic)?)?;
    let group = group_name(&required("group", params.group)?)?;
    caller.may_in_group(Action::Ops, &topic, &group)?;
    let bus = &api.hub.bus;
    let why = bus.why(&topic, &group).await?;
    let info = groups::find(bus, &group).await?;
    let (mut generation, mut members, mut is_virtual) = (None, Vec::new(), false);
    let mut partitions = Vec::with_capacity(why.partitions.len());
    match why.owners {
        Some(owners) => {
            (generation, is_virtual) = (Some(owners.generation), owners.virtual_partitions);
            members = owners.members.into_iter().map(MemberView::from).collect();
            partitions.extend(owners.partitions.into_iter().map(|one| PartitionView::owned(one, &why.partitions)));
        }
        None => partitions.extend(why.partitions.iter().map(PartitionView::shared)),
    }
    let reading = info.subscriptions.iter().find(|one| one.topics.iter().any(|pattern| pattern.matches(&topic)));
    let mode = reading.map_or(Mode::default(), |one| one.options.mode);
    Ok(Json(PartitionList {
        topic: topic.to_string(),
        group: group.to_string(),
        mode: groups::mode_name(mode),
        generation,
        is_virtual,
        members,
        partitions,
    }))
}

impl PartitionView {
    fn shared(why: &PartitionWhy) -> Self {
        Self {
            partition: why.partition,
            owner: None,
            moving_to: None,
            epoch: Some(why.epoch).filter(|epoch| *epoch > 0),
            floor: Some(why.floor),
            next: Some(why.next),
            lag_events: Some(why.lag_events),
            in_flight: why.status.as_ref().map_or(0, |status| status.in_flight),
            subscribers: why.status.as_ref().map_or(0, |status| status.subscribers),
        }
    }

    /// A partition of the topic has a log of its own; a virtual one is a lane in the only log.
    fn owned(one: PartitionOwner, logs: &[PartitionWhy]) -> Self {
        let log = logs.iter().find(|log| log.partition == one.partition).filter(|_| logs.len() > 1);
        let only = logs.first().filter(|_| logs.len() == 1);
        let lanes = only.and_then(|only| only.status.as_ref()).map_or(&[][..], |status| &status.lanes);
        let lane = lanes.iter().find(|lane| lane.lane == one.partition);
        // The only partition of a topic that is not divided has everything to itself.
        let log = log.or(only.filter(|_| lanes.len() <= 1));
        let in_log = |log: &PartitionWhy| log.status.as_ref().map_or(0, |status| status.in_flight);
        Self {
            partition: one.partition,
            epoch: Some(one.epoch),
            floor: log.map(|log| log.floor),
            next: log.map(|log| log.next),
            lag_events: log.map(|log| log.lag_events),
            in_flight: lane.map(|lane| lane.in_flight).or(log.map(in_log)).unwrap_or_default(),
            subscribers: usize::from(one.owner.is_some()),
            owner: one.owner,
            moving_to: one.moving_to,
        }
    }
}

impl From<MemberStatus> for MemberView {
    fn from(member: MemberStatus) -> Self {
        Self {
            member: member.member,
            weight: member.weight,
            pins: member.pins,
            ttl_ms: member.ttl_ms,
            meta: member.meta.and_then(|text| serde_json::from_str(&text).ok()),
            partitions: member.partitions,
        }
    }
}
