//! `GET /partitions`: who serves the partitions of a topic for a group.
//!
//! In shared mode nobody owns a partition: every subscriber takes from every one of them, so there
//! are no owners and no generation, and the epoch tells how often dispatching was taken over.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::Mode;
use prom_store::{CursorName, LogName};
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
    /// Counts changes of owners; `null` in shared mode.
    generation: Option<u64>,
    partitions: Vec<PartitionView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = GroupPartition)]
pub(crate) struct PartitionView {
    partition: u32,
    /// The member that has it; `null` in shared mode.
    owner: Option<String>,
    /// Raised when dispatching is taken over or the cursor is moved; `null` before the first time.
    epoch: Option<u64>,
    /// Everything before it is settled.
    floor: u64,
    next: u64,
    lag_events: u64,
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
    let mut partitions = Vec::with_capacity(why.partitions.len());
    for why in why.partitions {
        let cursor = CursorName::new(LogName::new(topic.clone(), why.partition), group.clone());
        let state = bus.store().cursor(&cursor).await?;
        partitions.push(PartitionView {
            partition: why.partition,
            owner: None,
            epoch: state.map(|state| state.epoch).filter(|epoch| *epoch > 0),
            floor: why.floor,
            next: why.next,
            lag_events: why.lag_events,
            in_flight: why.status.as_ref().map_or(0, |status| status.in_flight),
            subscribers: why.status.as_ref().map_or(0, |status| status.subscribers),
        });
    }
    let reading = info.subscriptions.iter().find(|one| one.topics.iter().any(|pattern| pattern.matches(&topic)));
    let mode = reading.map_or(Mode::default(), |one| one.options.mode);
    Ok(Json(PartitionList {
        topic: topic.to_string(),
        group: group.to_string(),
        mode: groups::mode_name(mode),
        generation: None,
        partitions,
    }))
}
