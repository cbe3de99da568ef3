//! `GET /cursors`: where the groups of a topic stand.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{Error, GroupInfo};
use prom_protocol::http::cursors::{CursorList, CursorQuery, CursorView};
use prom_types::TopicName;

use super::api::Api;
use super::caller::Caller;
use super::extract::Params;
use super::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/cursors",
    operation_id = "listCursors",
    tag = "groups",
    summary = "Get the positions of groups in a topic",
    params(CursorQuery),
    responses((status = 200, description = "The cursors", body = CursorList), Problems),
)]
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(CursorQuery { topic, group: only }): Params<CursorQuery>,
) -> Result<Json<CursorList>, Problem> {
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
            // It was deleted in the meantime.
            Err(Error::UnknownGroup { .. }) if only.is_none() => continue,
            found => found?,
        };
        cursors.extend(found.into_iter().map(|cursor| CursorView {
            group: group.name.clone(),
            partition: cursor.partition,
            offset: cursor.offset,
            last_id: cursor.last_id,
            last_ts: cursor.last_ts,
            acked_above: cursor.acked_above,
        }));
    }
    if let (Some(group), true) = (only, cursors.is_empty()) {
        // Whether it does not exist or does not read this topic is not told.
        bus.cursor(&topic, &group).await?;
    }
    Ok(Json(CursorList { topic, cursors }))
}

/// Whether a group subscribes to a topic.
pub(crate) fn reads(group: &GroupInfo, topic: &TopicName) -> bool {
    group.patterns().any(|pattern| pattern.matches(topic))
}
