//! `GET /lag`: how far groups are behind.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use futures::{StreamExt, stream};
use hashbrown::HashMap;
use http::Uri;
use prom_auth::Action;
use prom_engine::{Bus, Error, GroupInfo, Lag};
use prom_protocol::http::lag::{LagAnswer, LagQuery, LagView, PartitionLagView};
use prom_types::{GroupName, TopicName};

use super::api::Api;
use super::caller::Caller;
use super::cursors::reads;
use super::extract::Params;
use super::gather;
use super::limits::{LAGS, LAGS_AT_ONCE};
use super::metrics::keep_largest;
use super::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/lag",
    operation_id = "lag",
    tag = "groups",
    summary = "Get the lag of groups",
    params(LagQuery),
    responses((status = 200, description = "The lag, or the lags", body = LagAnswer), Problems),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(LagQuery { topic, group }): Params<LagQuery>,
    asked: Uri,
) -> Result<Json<LagAnswer>, Problem> {
    let bus = &api.hub.bus;
    if let (Some(topic), Some(group)) = (&topic, &group) {
        caller.may_in_group(Action::Ops, topic, group)?;
        super::forward::check_here(bus, group).await?;
        return Ok(Json(LagAnswer::One(view(bus.lag(topic, group).await?))));
    }
    if let Some(topic) = &topic {
        caller.may(Action::Ops, topic)?;
        bus.topic_settings(topic).await?;
    }
    caller.may_somewhere(Action::Ops)?;
    let groups = bus.groups().await?;
    let mut wanted = readings_of(bus, &groups);
    wanted.retain(|(in_topic, of_group)| {
        topic.as_ref().is_none_or(|topic| topic == in_topic) && group.as_ref().is_none_or(|group| group == of_group)
    });
    let all = wanted.len();
    wanted.retain(|(in_topic, of_group)| caller.may_in_group(Action::Ops, in_topic, of_group).is_ok());
    let hidden = wanted.len() < all;
    let omitted = keep_furthest_behind(bus, &mut wanted).await?;
    if let (Some(group), true) = (&group, wanted.is_empty()) {
        super::groups::find(bus, &caller, Action::Ops, group).await?;
    }
    let owners: HashMap<GroupName, String> =
        groups.into_iter().filter_map(|group| Some((group.name, group.served_by?))).collect();
    let served_at = wanted.iter().filter_map(|(_, group)| owners.get(group)).map(String::as_str);
    let others = gather::from_owners::<LagAnswer>(&api, &caller, &asked, served_at).await;
    let mut told: HashMap<(TopicName, GroupName), LagView> = HashMap::new();
    for (hub, list) in others.lists {
        let theirs = list.into_lags().into_iter().filter(|lag| owners.get(&lag.group) == Some(&hub));
        told.extend(theirs.map(|lag| ((lag.topic.clone(), lag.group.clone()), lag)));
    }
    let own_or_told = |lag: Lag| {
        let told = told.remove(&(lag.topic.clone(), lag.group.clone()));
        told.unwrap_or_else(|| view(lag))
    };
    let lags = lags(bus, wanted).await?.into_iter().map(own_or_told).collect();
    Ok(Json(LagAnswer::Many { lags, hidden, omitted, silent_hubs: others.silent }))
}

/// Every group in every topic that it reads, by topic and group.
fn readings_of(bus: &Bus, groups: &[GroupInfo]) -> Vec<(TopicName, GroupName)> {
    let mut found = Vec::new();
    if groups.is_empty() {
        return found;
    }
    for topic in bus.meters().topics {
        let topic = topic.topic;
        let readers = groups.iter().filter(|group| reads(group, &topic));
        found.extend(readers.map(|group| (topic.clone(), group.name.clone())));
    }
    found
}

/// Looking at a lag asks the store and a dispatcher: only so many are, those that are furthest behind. Returns how many went.
async fn keep_furthest_behind(bus: &Bus, wanted: &mut Vec<(TopicName, GroupName)>) -> Result<u64, Error> {
    if wanted.len() <= LAGS {
        return Ok(0);
    }
    let counts = bus.lag_counts().await?.into_iter().map(|lag| ((lag.topic, lag.group), lag.lag_events));
    let behind: HashMap<(TopicName, GroupName), u64> = counts.filter(|(_, lag_events)| *lag_events > 0).collect();
    Ok(keep_largest(wanted, LAGS, |reading| behind.get(reading).copied().unwrap_or_default()) as u64)
}

/// The lags of those that are still there when they are asked.
async fn lags(bus: &Bus, readings: Vec<(TopicName, GroupName)>) -> Result<Vec<Lag>, Error> {
    let mut lags = Vec::with_capacity(readings.len());
    let looks = readings.into_iter().map(|(topic, group)| async move { bus.lag(&topic, &group).await });
    let mut looks = stream::iter(looks).buffered(LAGS_AT_ONCE);
    while let Some(found) = looks.next().await {
        match found {
            Ok(lag) => lags.push(lag),
            Err(Error::UnknownGroup { .. } | Error::NotOfTheGroup { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(lags)
}

fn view(lag: Lag) -> LagView {
    let partitions = lag.partitions.iter().map(|partition| PartitionLagView {
        partition: partition.partition,
        floor: partition.floor,
        next: partition.next,
        lag_events: partition.lag_events,
        lag_ms: partition.lag_ms,
        in_flight: partition.in_flight as u64,
    });
    LagView {
        last_cursor: lag.partitions.iter().map(|partition| partition.floor).sum(),
        tail: lag.partitions.iter().map(|partition| partition.next).sum(),
        lag_events: lag.lag_events,
        lag_ms: lag.lag_ms,
        in_flight: lag.in_flight as u64,
        dead_letters: lag.dead_letters,
        partitions: partitions.collect(),
        topic: lag.topic,
        group: lag.group,
    }
}
