//! `GET /lag`: how far groups are behind.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{Bus, Error, Lag};
use prom_types::{GroupName, TopicName};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::api::Api;
use super::caller::Caller;
use super::cursors::reads;
use super::extract::{Params, group_name, topic_name};
use super::problem::{Problem, Problems};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LagParams {
    /// All topics unless given.
    topic: Option<String>,
    /// All groups unless given.
    group: Option<String>,
}

/// One lag where topic and group are given, else those that the caller may see.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum LagAnswer {
    One(LagView),
    Many { lags: Vec<LagView> },
}

/// Retained, unsettled events of a group in a topic.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LagView {
    topic: String,
    group: String,
    /// The floor: everything before it is settled. Added up over the partitions.
    last_cursor: u64,
    /// The offset that the next event gets. Added up over the partitions.
    tail: u64,
    lag_events: u64,
    /// The age of the oldest unsettled event.
    lag_ms: u64,
    in_flight: usize,
    partitions: Vec<PartitionLagView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartitionLagView {
    partition: u32,
    floor: u64,
    next: u64,
    lag_events: u64,
    lag_ms: u64,
    in_flight: usize,
}

#[utoipa::path(
    get,
    path = "/lag",
    operation_id = "lag",
    tag = "groups",
    summary = "How far groups are behind",
    params(LagParams),
    responses((status = 200, description = "The lag, or the lags", body = LagAnswer), Problems),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(params): Params<LagParams>,
) -> Result<Json<LagAnswer>, Problem> {
    let topic = params.topic.as_deref().map(topic_name).transpose()?;
    let group = params.group.as_deref().map(group_name).transpose()?;
    let bus = &api.hub.bus;
    if let (Some(topic), Some(group)) = (&topic, &group) {
        caller.may_in_group(Action::Ops, topic, group)?;
        super::forward::check_here(bus, group).await?;
        return Ok(Json(LagAnswer::One(bus.lag(topic, group).await?.into())));
    }
    if let Some(topic) = &topic {
        caller.may(Action::Ops, topic)?;
        bus.topic_settings(topic).await?;
    }
    if let Some(group) = &group {
        super::groups::find(bus, group).await?;
    }
    let mut wanted = readings(bus).await?;
    wanted.retain(|(in_topic, of_group)| {
        topic.as_ref().is_none_or(|topic| topic == in_topic)
            && group.as_ref().is_none_or(|group| group == of_group)
            && caller.may_in_group(Action::Ops, in_topic, of_group).is_ok()
    });
    let lags = lags(bus, wanted).await?;
    Ok(Json(LagAnswer::Many { lags: lags.into_iter().map(LagView::from).collect() }))
}

/// Every group in every topic that it reads, by topic and group.
pub(crate) async fn readings(bus: &Bus) -> Result<Vec<(TopicName, GroupName)>, Error> {
    let groups = bus.groups().await?;
    if groups.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for topic in bus.meters().topics {
        let topic = topic.topic;
        let readers = groups.iter().filter(|group| reads(group, &topic));
        found.extend(readers.map(|group| (topic.clone(), group.name.clone())));
    }
    Ok(found)
}

/// The lags of those that are still there when they are asked.
pub(crate) async fn lags(bus: &Bus, readings: Vec<(TopicName, GroupName)>) -> Result<Vec<Lag>, Error> {
    let mut lags = Vec::with_capacity(readings.len());
    for (topic, group) in readings {
        match bus.lag(&topic, &group).await {
            Ok(lag) => lags.push(lag),
            Err(Error::UnknownGroup { .. } | Error::NotOfTheGroup { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(lags)
}

impl From<Lag> for LagView {
    fn from(lag: Lag) -> Self {
        Self {
            topic: lag.topic.to_string(),
            group: lag.group.to_string(),
            last_cursor: lag.partitions.iter().map(|partition| partition.floor).sum(),
            tail: lag.partitions.iter().map(|partition| partition.next).sum(),
            lag_events: lag.lag_events,
            lag_ms: lag.lag_ms,
            in_flight: lag.in_flight,
            partitions: lag
                .partitions
                .into_iter()
                .map(|partition| PartitionLagView {
                    partition: partition.partition,
                    floor: partition.floor,
                    next: partition.next,
                    lag_events: partition.lag_events,
                    lag_ms: partition.lag_ms,
                    in_flight: partition.in_flight,
                })
                .collect(),
        }
    }
}
