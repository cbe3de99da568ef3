//! `GET /registry`: the topics that have schemas.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_protocol::http::listing::PageQuery;
use prom_protocol::http::registry::{RegistryTopic, RegistryView};
use prom_schema::TopicSchemas;

use super::{may_read, may_read_some, view};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::Params;
use crate::http::listing::{ListPage, Listing};
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/registry",
    operation_id = "getRegistry",
    tag = "schemas",
    summary = "List the topics that have schemas",
    params(PageQuery),
    responses((status = 200, description = "The registry", body = RegistryView), Problems),
)]
pub(in crate::http) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(query): Params<PageQuery>,
) -> Result<Json<RegistryView>, Problem> {
    may_read_some(&caller)?;
    let listing = Listing::read(&query, &["topic", "latest_ts", "versions"])?;
    let bus = &api.hub.bus;
    let settings = bus.schema_settings(None).await?;
    let mut hidden = false;
    let is_seen = |topic: &TopicSchemas| {
        let is_seen = may_read(&caller, &topic.topic).is_ok();
        hidden |= !is_seen;
        is_seen && listing.has(&topic.topic)
    };
    let mut topics = bus.schemas_where(is_seen).await?;
    let latest_ts = |topic: &TopicSchemas| topic.latest().map_or(0, |entry| entry.registered_ts);
    match listing.field {
        "latest_ts" => listing.sort_by_number(&mut topics, |topic| latest_ts(topic) as f64),
        "versions" => listing.sort_by_number(&mut topics, |topic| topic.live().count() as f64),
        _ => listing.sort_by_name(&mut topics),
    }
    let ListPage { items, total, next } = listing.page(topics);
    let one = |topic: TopicSchemas| {
        let resolved = settings.with(&topic.settings);
        let latest = topic.latest();
        RegistryTopic {
            latest: latest.map(|entry| entry.version),
            latest_id: latest.map(|entry| entry.id),
            latest_ts: latest.map(|entry| entry.registered_ts),
            versions: topic.live().map(|entry| entry.version).collect(),
            upcasters: topic.upcasters.keys().copied().collect(),
            compat: resolved.compat.to_string(),
            policy: resolved.policy.to_string(),
            topic: topic.topic,
        }
    };
    let topics = items.into_iter().map(one).collect();
    Ok(Json(RegistryView { settings: view::settings(settings), topics, hidden, total, next }))
}
