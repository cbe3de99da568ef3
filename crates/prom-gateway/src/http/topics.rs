//! `GET /topics` and `GET /topics/{topic}`: settings, partitions, rates.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{Bus, TopicInfo, TopicSettings};
use prom_protocol::http::topics::{DualWriteView, TopicList, TopicPartitionView, TopicSettingsView, TopicView};

use super::api::Api;
use super::caller::Caller;
use super::extract::TopicInPath;
use super::problem::{Problem, Problems};
use crate::metrics::TopicRates;

#[utoipa::path(
    get,
    path = "/topics",
    operation_id = "listTopics",
    tag = "topics",
    summary = "List topics",
    responses((status = 200, description = "The topics", body = TopicList), Problems),
)]
pub(super) async fn list(State(api): State<Arc<Api>>, caller: Caller) -> Result<Json<TopicList>, Problem> {
    caller.may_somewhere(Action::Ops)?;
    let rates = api.sampler.rates().await?;
    let mut topics = api.hub.bus.topics().await?;
    let all = topics.len();
    topics.retain(|topic| caller.may(Action::Ops, &topic.settings.name).is_ok());
    let hidden = topics.len() < all;
    let topics = topics.into_iter().map(|topic| view(&api.hub.bus, &topic, rates.of(&topic.settings.name)));
    Ok(Json(TopicList { topics: topics.collect(), hidden }))
}

#[utoipa::path(
    get,
    path = "/topics/{topic}",
    operation_id = "getTopic",
    tag = "topics",
    summary = "Look at a topic",
    params(("topic" = String, Path)),
    responses((status = 200, description = "The topic", body = TopicView), Problems),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
) -> Result<Json<TopicView>, Problem> {
    caller.may(Action::Ops, &topic)?;
    let rates = api.sampler.rates().await?;
    let info = api.hub.bus.topic(&topic).await?;
    Ok(Json(view(&api.hub.bus, &info, rates.of(&topic))))
}

fn view(bus: &Bus, info: &TopicInfo, rates: Option<TopicRates>) -> TopicView {
    let partitions = info.partitions.iter().map(|partition| TopicPartitionView {
        partition: partition.partition,
        start: partition.bounds.start,
        head: partition.bounds.next,
        bytes: partition.bytes,
    });
    let partitions: Vec<TopicPartitionView> = partitions.collect();
    TopicView {
        topic: info.settings.name.clone(),
        settings: settings_view(&info.settings),
        events: partitions.iter().map(|partition| partition.head - partition.start).sum(),
        bytes: partitions.iter().map(|partition| partition.bytes).sum(),
        partitions,
        events_per_s: rates.map(|rates| rates.events_per_s),
        bytes_per_s: rates.map(|rates| rates.bytes_per_s),
        schema_version: bus.latest_schema_version(&info.settings.name),
    }
}

/// The settings as they are answered.
pub(super) fn settings_view(settings: &TopicSettings) -> TopicSettingsView {
    TopicSettingsView {
        partitions: settings.partitions,
        key: settings.key.clone(),
        retention: settings.retention,
        compaction: settings.compaction,
        max_attempts: settings.max_attempts,
        dual_write: settings.dual_write.map(|dual_write| DualWriteView { until: dual_write.until }),
    }
}
