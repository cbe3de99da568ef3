//! `GET /groups` and `GET /groups/{group}`: who reads what, and what was agreed on.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{Bus, Error, GroupInfo, GroupSubscription};
use prom_protocol::http::groups::{GroupList, GroupOptionsView, GroupView, SubscriptionView};
use prom_types::GroupName;

use super::api::Api;
use super::caller::Caller;
use super::extract::GroupInPath;
use super::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/groups",
    operation_id = "listGroups",
    tag = "groups",
    summary = "List groups",
    responses((status = 200, description = "The groups", body = GroupList), Problems),
)]
pub(super) async fn list(State(api): State<Arc<Api>>, caller: Caller) -> Result<Json<GroupList>, Problem> {
    let groups = api.hub.bus.groups().await?;
    let groups = groups.into_iter().filter_map(|group| visible(&caller, group)).map(view).collect();
    Ok(Json(GroupList { groups }))
}

#[utoipa::path(
    get,
    path = "/groups/{group}",
    operation_id = "getGroup",
    tag = "groups",
    summary = "Look at a group",
    params(("group" = String, Path)),
    responses((status = 200, description = "The group", body = GroupView), Problems),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    GroupInPath(group): GroupInPath,
) -> Result<Json<GroupView>, Problem> {
    let info = find(&api.hub.bus, &group).await?;
    if info.subscriptions.is_empty() {
        caller.may_everywhere(Action::Ops)?;
    }
    for pattern in info.subscriptions.iter().flat_map(|subscription| &subscription.topics) {
        caller.may_all(Action::Ops, pattern, &group)?;
    }
    // Who subscribes is known where it is served.
    super::forward::check_here(&api.hub.bus, &group).await?;
    Ok(Json(view(info)))
}

/// The group with those of its subscriptions that the caller may see; `None` if those are none.
pub(super) fn visible(caller: &Caller, mut group: GroupInfo) -> Option<GroupInfo> {
    let name = group.name.clone();
    let may = |subscription: &GroupSubscription| {
        subscription.topics.iter().all(|pattern| caller.may_all(Action::Ops, pattern, &name).is_ok())
    };
    group.subscriptions.retain(may);
    (!group.subscriptions.is_empty()).then_some(group)
}

pub(super) async fn find(bus: &Bus, name: &GroupName) -> Result<GroupInfo, Problem> {
    let found = bus.groups().await?.into_iter().find(|group| group.name == *name);
    Ok(found.ok_or_else(|| Error::UnknownGroup { group: name.clone() })?)
}

/// The group as it is answered.
pub(super) fn view(info: GroupInfo) -> GroupView {
    GroupView {
        group: info.name,
        subscriptions: info.subscriptions.into_iter().map(subscription).collect(),
        created_ts: info.created_ts,
        last_used_ts: info.last_used_ts,
        subscribers: info.subscribers as u64,
        served_by: info.served_by,
    }
}

fn subscription(GroupSubscription { topics, options }: GroupSubscription) -> SubscriptionView {
    let options = GroupOptionsView {
        from: options.from.to_string(),
        mode: options.mode,
        partitions: options.partitions,
        order: options.order,
        filter: options.filter,
        max_attempts: options.max_attempts,
        backoff: options.backoff,
        expire_after_ms: options.expire_after_ms,
    };
    SubscriptionView { topics, options }
}
