//! `GET /cursors`: where the groups of a topic stand.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{Error, GroupInfo};
use prom_types::TopicName;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::api::Api;
use super::caller::Caller;
use super::extract::{Params, group_name, required, topic_name};
use super::problem::{Problem, Problems};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CursorParams {
    #[param(required = true)]
    topic: Option<String>,
    /// Only this group.
    group: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct CursorList {
    topic: String,
    cursors: Vec<CursorView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CursorView {
    group: String,
    partition: u32,
    /// The floor: everything before it is settled.
    offset: u64,
    /// The last event before the floor, if it is still there.
    #[schema(format = "uuid")]
    last_id: Option<String>,
    last_ts: Option<i64>,
    /// How many offsets beyond the floor are settled.
    acked_above: u64,
}

#[utoipa::path(
    get,
    path = "/cursors",
    operation_id = "listCursors",
    tag = "groups",
    summary = "Where groups stand in a topic",
    params(CursorParams),
    responses((status = 200, description = "The cursors", body = CursorList), Problems),
)]
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(params): Params<CursorParams>,
) -> Result<Json<CursorList>, Problem> {
    let topic = topic_name(&required("topic", params.topic)?)?;
    let only = params.group.as_deref().map(group_name).transpose()?;
    match &only {
        Some(group) => caller.may_in_group(Action::Ops, &topic, group)?,
        None => caller.may(Action::Ops, &topic)?,
    }
    let bus = &api.hub.bus;
    bus.topic_settings(&topic).await?;
    let mut cursors = Vec::new();
    for group in bus.groups().await? {
        let wanted = only.as_ref().is_none_or(|only| *only == group.name);
        if !wanted || !reads(&group, &topic) || caller.may_in_group(Action::Ops, &topic, &group.name).is_err() {
            continue;
        }
        let found = match bus.cursor(&topic, &group.name).await {
            // It was deleted while we looked.
            Err(Error::UnknownGroup { .. }) if only.is_none() => continue,
            found => found?,
        };
        cursors.extend(found.into_iter().map(|cursor| CursorView {
            group: group.name.to_string(),
            partition: cursor.partition,
            offset: cursor.offset,
            last_id: cursor.last_id.map(|id| id.to_string()),
            last_ts: cursor.last_ts,
            acked_above: cursor.acked_above,
        }));
    }
    if let (Some(group), true) = (only, cursors.is_empty()) {
        // Says which of the two it is: no such group, or not of this topic.
        bus.cursor(&topic, &group).await?;
    }
    Ok(Json(CursorList { topic: topic.to_string(), cursors }))
}

/// Whether a group subscribes to a topic.
pub(crate) fn reads(group: &GroupInfo, topic: &TopicName) -> bool {
    let mut patterns = group.subscriptions.iter().flat_map(|subscription| &subscription.topics);
    patterns.any(|pattern| pattern.matches(topic))
}
