//! `PATCH /groups/{group}` changes the options of a group, `DELETE /groups/{group}` deletes it.
//!
//! Promise: either needs the right to administer everything that the group reads. Subscriptions that
//! can reach the same topics share their options, so a change of one of them may reach all the others.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use prom_auth::Action;
use prom_engine::{Expiry, GroupChange};
use prom_protocol::http::groups::{GroupView, PatchGroup};
use prom_types::{Mode, Order, Position};

use super::api::Api;
use super::caller::Caller;
use super::extract::{GroupInPath, JsonBody};
use super::groups;
use super::problem::{Problem, Problems};

#[utoipa::path(
    patch,
    path = "/groups/{group}",
    operation_id = "changeGroup",
    tag = "groups",
    summary = "Change a group",
    description = "Running subscribers continue under the new options.",
    params(("group" = String, Path)),
    request_body = PatchGroup,
    responses((status = 200, description = "The group as it is now", body = GroupView), Problems),
)]
pub(super) async fn patch(
    State(api): State<Arc<Api>>,
    caller: Caller,
    GroupInPath(group): GroupInPath,
    body: JsonBody<PatchGroup>,
) -> Result<Json<GroupView>, Problem> {
    let bus = &caller.bus(&api.hub);
    let info = groups::find(bus, &caller, Action::Admin, &group).await?;
    let body = body.read(&api).await?;
    let asked = body.topic.clone();
    if let Some(pattern) = &asked {
        caller.may_all(Action::Admin, pattern, &group)?;
    }
    let change = change(body);
    for pattern in asked.map_or_else(|| info.patterns().cloned().collect(), |pattern| vec![pattern]) {
        bus.change_group(pattern.as_str(), &group, change.clone()).await?;
    }
    Ok(Json(groups::view(groups::find(bus, &caller, Action::Admin, &group).await?)))
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
    let bus = &caller.bus(&api.hub);
    groups::find(bus, &caller, Action::Admin, &group).await?;
    bus.delete_group(&group).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn change(body: PatchGroup) -> GroupChange {
    GroupChange {
        max_attempts: body.max_attempts,
        backoff: body.backoff,
        park: body.park,
        expire_after: body.expire_after_ms.map(|after| match after {
            Some(millis) => Expiry::After(Duration::from_millis(millis)),
            None => Expiry::Never,
        }),
        // The bus refuses any value, with the reason.
        from: body.from.map(|_| Position::default()),
        order: body.order.map(|_| Order::default()),
        filter: body.filter,
        mode: body.mode.map(|_| Mode::default()),
        partitions: body.partitions.map(|_| 0),
    }
}
