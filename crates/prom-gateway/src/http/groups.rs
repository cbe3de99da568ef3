//! `GET /groups` and `GET /groups/{group}`: who reads what, and what was agreed on.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{Bus, Error, GroupInfo, GroupOptions, GroupSubscription, Order};
use prom_types::GroupName;
use serde::Serialize;
use utoipa::ToSchema;

use super::api::Api;
use super::caller::Caller;
use super::extract::GroupInPath;
use super::problem::{Problem, Problems};

#[derive(Serialize, ToSchema)]
pub(crate) struct GroupList {
    /// Those that the caller's rights cover, by name.
    groups: Vec<GroupView>,
}

/// A group and what it subscribes to.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupView {
    group: String,
    subscriptions: Vec<SubscriptionView>,
    created_ts: i64,
    /// Kept up to date only where the group can expire.
    last_used_ts: i64,
    /// Subscribers that the asked hub serves; the hub in `servedBy` knows all of them.
    subscribers: usize,
    /// Where the hub is that serves the group, among several on one store.
    #[serde(skip_serializing_if = "Option::is_none")]
    served_by: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubscriptionView {
    /// Topics and patterns.
    topics: Vec<String>,
    options: OptionsView,
}

/// What the group agreed on. `null` is the default of the topic or the hub.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OptionsView {
    /// Where the group began.
    #[schema(example = "earliest")]
    from: String,
    #[schema(example = "shared")]
    mode: &'static str,
    /// Into how many it divides topics that have one partition.
    partitions: Option<u32>,
    #[schema(example = "none")]
    order: &'static str,
    filter: Option<String>,
    max_attempts: Option<u32>,
    backoff: BackoffView,
    expire_after_ms: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BackoffView {
    first_ms: u64,
    max_ms: u64,
}

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
    let groups = groups.into_iter().filter_map(|group| visible(&caller, group)).map(GroupView::new).collect();
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
    Ok(Json(GroupView::new(info)))
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

impl GroupView {
    pub(super) fn new(info: GroupInfo) -> Self {
        Self {
            group: info.name.to_string(),
            subscriptions: info.subscriptions.into_iter().map(SubscriptionView::new).collect(),
            created_ts: info.created_ts,
            last_used_ts: info.last_used_ts,
            subscribers: info.subscribers,
            served_by: info.served_by,
        }
    }
}

impl SubscriptionView {
    fn new(subscription: GroupSubscription) -> Self {
        Self {
            topics: subscription.topics.iter().map(ToString::to_string).collect(),
            options: OptionsView::new(subscription.options),
        }
    }
}

impl OptionsView {
    fn new(options: GroupOptions) -> Self {
        Self {
            from: options.from.to_string(),
            mode: mode_name(options.mode),
            partitions: options.partitions,
            order: match options.order {
                Order::None => "none",
                Order::Key => "key",
            },
            filter: options.filter,
            max_attempts: options.max_attempts,
            backoff: BackoffView { first_ms: options.backoff.first_ms, max_ms: options.backoff.max_ms },
            expire_after_ms: options.expire_after_ms,
        }
    }
}

pub(super) fn mode_name(mode: prom_engine::Mode) -> &'static str {
    match mode {
        prom_engine::Mode::Shared => "shared",
        prom_engine::Mode::Partitioned => "partitioned",
    }
}
