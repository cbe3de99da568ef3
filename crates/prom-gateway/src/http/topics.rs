//! `GET /topics` and `GET /topics/{topic}`: settings, partitions, rates.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{Bus, TopicInfo, TopicSettings};
use prom_jobs::IndexState;
use prom_protocol::http::listing::PageQuery;
use prom_protocol::http::topics::{
    DualWriteView, TopicIndexView, TopicList, TopicPartitionView, TopicSettingsView, TopicView,
};

use super::api::Api;
use super::caller::Caller;
use super::extract::{Params, TopicInPath};
use super::listing::{ListPage, Listing};
use super::problem::{Problem, Problems};
use crate::metrics::TopicRates;

#[utoipa::path(
    get,
    path = "/topics",
    operation_id = "listTopics",
    tag = "topics",
    summary = "List topics",
    params(PageQuery),
    responses((status = 200, description = "The topics", body = TopicList), Problems),
)]
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(query): Params<PageQuery>,
) -> Result<Json<TopicList>, Problem> {
    caller.may_somewhere(Action::Ops)?;
    let listing = Listing::read(&query, &["topic", "events", "events_per_s", "bytes", "partitions"])?;
    let rates = api.sampler.rates().await?;
    let mut topics = api.hub.bus.topics().await?;
    let all = topics.len();
    topics.retain(|topic| caller.may(Action::Ops, &topic.settings.name).is_ok());
    let hidden = topics.len() < all;
    topics.retain(|topic| listing.has(&topic.settings.name));
    let rate = |topic: &TopicInfo| rates.of(&topic.settings.name).map_or(0.0, |rates| rates.events_per_s);
    match listing.field {
        "events" => listing.sort_by_number(&mut topics, |topic| events(topic) as f64),
        "events_per_s" => listing.sort_by_number(&mut topics, rate),
        "bytes" => listing.sort_by_number(&mut topics, |topic| bytes(topic) as f64),
        "partitions" => listing.sort_by_number(&mut topics, |topic| f64::from(topic.settings.partitions)),
        _ => listing.sort_by_name(&mut topics),
    }
    let ListPage { items, total, next } = listing.page(topics);
    let topics = items.iter().map(|topic| view(&api.hub.bus, topic, rates.of(&topic.settings.name)));
    Ok(Json(TopicList { topics: topics.collect(), hidden, total, next }))
}

fn events(topic: &TopicInfo) -> u64 {
    topic.partitions.iter().map(|partition| partition.bounds.next - partition.bounds.start).sum()
}

fn bytes(topic: &TopicInfo) -> u64 {
    topic.partitions.iter().map(|partition| partition.bytes).sum()
}

#[utoipa::path(
    get,
    path = "/topics/{topic}",
    operation_id = "getTopic",
    tag = "topics",
    summary = "Get a topic",
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
    let indexes = api.hub.indexes.states(&api.hub.bus, &topic).await?;
    let state = |IndexState { expression, behind }| TopicIndexView { expression, behind };
    let indexes = indexes.into_iter().map(state).collect();
    Ok(Json(TopicView { indexes, ..view(&api.hub.bus, &info, rates.of(&topic)) }))
}

fn view(bus: &Bus, info: &TopicInfo, rates: Option<TopicRates>) -> TopicView {
    let partitions = info.partitions.iter().map(|partition| TopicPartitionView {
        partition: partition.partition,
        start: partition.bounds.start,
        head: partition.bounds.next,
        bytes: partition.bytes,
    });
    TopicView {
        topic: info.settings.name.clone(),
        settings: settings_view(&info.settings),
        events: events(info),
        bytes: bytes(info),
        partitions: partitions.collect(),
        events_per_s: rates.map(|rates| rates.events_per_s),
        bytes_per_s: rates.map(|rates| rates.bytes_per_s),
        schema_version: bus.latest_schema_version(&info.settings.name),
        indexes: Vec::new(),
    }
}

/// The settings as they are answered.
pub(super) fn settings_view(settings: &TopicSettings) -> TopicSettingsView {
    TopicSettingsView {
        partitions: settings.partitions,
        key: settings.key.clone(),
        retention: settings.retention,
        compaction: settings.compaction,
        versions: settings.versions,
        max_attempts: settings.max_attempts,
        dual_write: settings.dual_write.map(|dual_write| DualWriteView { until: dual_write.until }),
        mask: settings.mask.clone(),
        index: settings.index.clone(),
        snapshot: settings.snapshot,
        snapshot_of: settings.snapshot_of.clone(),
    }
}
