//! `GET /topics` and `GET /topics/{topic}`: settings, partitions, rates.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{TopicInfo, TopicSettings};
use serde::Serialize;
use utoipa::ToSchema;

use super::api::Api;
use super::caller::Caller;
use super::extract::TopicInPath;
use super::problem::{Problem, Problems};
use super::put_topic::{CompactionBody, RetentionBody};
use crate::metrics::TopicRates;

#[derive(Serialize, ToSchema)]
pub(crate) struct TopicList {
    /// Those that the caller's rights cover, by name.
    topics: Vec<TopicView>,
}

/// A topic with its settings and what is in it.
#[derive(Serialize, ToSchema)]
pub(crate) struct TopicView {
    topic: String,
    settings: SettingsView,
    partitions: Vec<PartitionView>,
    /// Events that are retained; holes of compacted topics are counted as events.
    events: u64,
    bytes: u64,
    /// Events per second in the last ten seconds; `null` until it is known: ask again in a second.
    events_per_s: Option<f64>,
    bytes_per_s: Option<f64>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct SettingsView {
    partitions: u32,
    key: Option<String>,
    retention: RetentionBody,
    compaction: Option<CompactionBody>,
    max_attempts: Option<u32>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct PartitionView {
    partition: u32,
    /// The first offset that may still be there.
    start: u64,
    /// The offset that the next event gets.
    head: u64,
    bytes: u64,
}

#[utoipa::path(
    get,
    path = "/topics",
    operation_id = "listTopics",
    tag = "topics",
    summary = "List topics",
    responses((status = 200, description = "The topics", body = TopicList), Problems),
)]
pub(super) async fn list(State(api): State<Arc<Api>>, caller: Caller) -> Result<Json<TopicList>, Problem> {
    let rates = api.sampler.rates().await?;
    let mut topics = api.hub.bus.topics().await?;
    topics.retain(|topic| caller.may(Action::Ops, &topic.settings.name).is_ok());
    let view = |topic: TopicInfo| TopicView::new(&topic, rates.of(&topic.settings.name));
    Ok(Json(TopicList { topics: topics.into_iter().map(view).collect() }))
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
    Ok(Json(TopicView::new(&info, rates.of(&topic))))
}

impl TopicView {
    fn new(info: &TopicInfo, rates: Option<TopicRates>) -> Self {
        let partitions = info.partitions.iter().map(|partition| PartitionView {
            partition: partition.partition,
            start: partition.bounds.start,
            head: partition.bounds.next,
            bytes: partition.bytes,
        });
        let partitions: Vec<PartitionView> = partitions.collect();
        Self {
            topic: info.settings.name.to_string(),
            settings: SettingsView::new(&info.settings),
            events: partitions.iter().map(|partition| partition.head - partition.start).sum(),
            bytes: partitions.iter().map(|partition| partition.bytes).sum(),
            partitions,
            events_per_s: rates.map(|rates| rates.events_per_s),
            bytes_per_s: rates.map(|rates| rates.bytes_per_s),
        }
    }
}

impl SettingsView {
    pub(super) fn new(settings: &TopicSettings) -> Self {
        Self {
            partitions: settings.partitions,
            key: settings.key.clone(),
            retention: settings.retention.into(),
            compaction: settings.compaction.map(CompactionBody::from),
            max_attempts: settings.max_attempts,
        }
    }
}
