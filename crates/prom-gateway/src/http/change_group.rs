//! `PATCH /groups/{group}` changes what a group agreed on, `DELETE /groups/{group}` forgets it.
//!
//! Promise: either needs the right to administer everything that the group reads. Subscriptions that
//! can reach the same topics share their options, so a change of one of them may reach all the others.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use prom_auth::Action;
use prom_engine::{Backoff, Expiry, GroupChange, GroupInfo, Order, Position};
use prom_types::TopicPattern;
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::api::Api;
use super::caller::Caller;
use super::extract::{GroupInPath, JsonBody};
use super::groups::{self, GroupView};
use super::problem::{Problem, Problems};

/// What is to become different; everything left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct GroupBody {
    /// The topic or pattern whose agreement is changed; all that the group subscribes to unless given.
    topic: Option<String>,
    #[schema(minimum = 1)]
    max_attempts: Option<u32>,
    backoff: Option<BackoffBody>,
    /// The group is deleted when nobody subscribed for so long; `null`: never.
    #[serde(default, deserialize_with = "null_is_a_value")]
    #[schema(value_type = Option<u64>)]
    expire_after_ms: Option<Option<u64>>,
    /// Kept for life; asking for it is refused with what to do instead.
    #[schema(value_type = Option<String>)]
    from: Option<serde_json::Value>,
    /// Kept for life.
    #[schema(value_type = Option<String>)]
    order: Option<serde_json::Value>,
    /// Kept for life.
    filter: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BackoffBody {
    first_ms: u64,
    max_ms: u64,
}

fn null_is_a_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::<u64>::deserialize(deserializer).map(Some)
}

#[utoipa::path(
    patch,
    path = "/groups/{group}",
    operation_id = "changeGroup",
    tag = "groups",
    summary = "Change a group",
    description = "Subscribers that run go on under the new options.",
    params(("group" = String, Path)),
    request_body = GroupBody,
    responses((status = 200, description = "The group as it is now", body = GroupView), Problems),
)]
pub(super) async fn patch(
    State(api): State<Arc<Api>>,
    caller: Caller,
    GroupInPath(group): GroupInPath,
    JsonBody(body): JsonBody<GroupBody>,
) -> Result<Json<GroupView>, Problem> {
    let bus = &api.hub.bus;
    let asked = match &body.topic {
        Some(topic) => Some(TopicPattern::parse(topic).map_err(|invalid| Problem::field("topic", invalid))?),
        None => None,
    };
    if let Some(pattern) = &asked {
        caller.may_all(Action::Admin, pattern, &group)?;
    }
    let patterns = administered(&caller, &groups::find(bus, &group).await?)?;
    let change = body.into_change();
    for pattern in asked.map_or(patterns, |pattern| vec![pattern]) {
        bus.change_group(pattern.as_str(), &group, change.clone()).await?;
    }
    Ok(Json(GroupView::new(groups::find(bus, &group).await?)))
}

#[utoipa::path(
    delete,
    path = "/groups/{group}",
    operation_id = "deleteGroup",
    tag = "groups",
    summary = "Delete a group with its cursors",
    description = "Its subscriptions end.",
    params(("group" = String, Path)),
    responses((status = 204, description = "It is gone"), Problems),
)]
pub(super) async fn delete(
    State(api): State<Arc<Api>>,
    caller: Caller,
    GroupInPath(group): GroupInPath,
) -> Result<StatusCode, Problem> {
    let bus = &api.hub.bus;
    administered(&caller, &groups::find(bus, &group).await?)?;
    bus.delete_group(&group).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Everything that the group subscribes to, if the caller may administer all of it. Where that is
/// nothing, the group concerns the hub as a whole.
fn administered(caller: &Caller, group: &GroupInfo) -> Result<Vec<TopicPattern>, Problem> {
    let patterns: Vec<TopicPattern> =
        group.subscriptions.iter().flat_map(|subscription| subscription.topics.iter().cloned()).collect();
    if patterns.is_empty() {
        caller.may_everywhere(Action::Admin)?;
    }
    for pattern in &patterns {
        caller.may_all(Action::Admin, pattern, &group.name)?;
    }
    Ok(patterns)
}

impl GroupBody {
    fn into_change(self) -> GroupChange {
        let backoff = |body: BackoffBody| Backoff { first_ms: body.first_ms, max_ms: body.max_ms };
        GroupChange {
            max_attempts: self.max_attempts,
            backoff: self.backoff.map(backoff),
            expire_after: self.expire_after_ms.map(|after| match after {
                Some(millis) => Expiry::After(Duration::from_millis(millis)),
                None => Expiry::Never,
            }),
            // Whatever is asked for, the bus refuses it with the reason.
            from: self.from.map(|_| Position::default()),
            order: self.order.map(|_| Order::default()),
            filter: self.filter,
        }
    }
}
