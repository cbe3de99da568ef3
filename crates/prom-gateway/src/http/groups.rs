//! `GET /groups` and `GET /groups/{group}`: who reads what, and what was agreed on.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use hashbrown::HashMap;
use http::Uri;
use prom_auth::Action;
use prom_engine::{Bus, Error, GroupInfo, GroupMemberInfo, GroupSubscription};
use prom_protocol::http::groups::{GroupList, GroupMemberView, GroupOptionsView, GroupView, SubscriptionView};
use prom_protocol::http::listing::PageQuery;
use prom_types::{GroupName, TopicPattern};

use super::api::Api;
use super::caller::Caller;
use super::extract::{GroupInPath, Params};
use super::gather;
use super::listing::{ListPage, Listing};
use super::parked;
use super::problem::{Problem, Problems};
use super::why::millis;

/// Parked keys in the answer about one group.
const PARKED_SHOWN: usize = 20;

#[utoipa::path(
    get,
    path = "/groups",
    operation_id = "listGroups",
    tag = "groups",
    summary = "List groups",
    params(PageQuery),
    responses((status = 200, description = "The groups", body = GroupList), Problems),
)]
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(query): Params<PageQuery>,
    asked: Uri,
) -> Result<Json<GroupList>, Problem> {
    caller.may_somewhere(Action::Ops)?;
    // Another hub cuts the list itself.
    let query = if caller.is_hub() { PageQuery::default() } else { query };
    let listing = Listing::read(&query, &["group", "subscribers", "created_ts", "lag_events", "in_flight"])?;
    let mut hidden = false;
    let mut groups = api.hub.bus.groups().await?;
    groups.retain_mut(|group| {
        hidden |= hide(&caller, group) == Hidden::Some;
        !group.subscriptions.is_empty()
    });
    groups.retain(|group| listing.has(&group.name) || group.patterns().any(|pattern| listing.has(pattern)));
    let served_at = groups.iter().filter_map(|group| group.served_by.as_deref());
    let others = gather::from_owners::<GroupList>(&api, &caller, &asked, served_at).await;
    let mut subscribers: HashMap<(String, GroupName), u64> = HashMap::new();
    for (hub, list) in others.lists {
        subscribers.extend(list.groups.into_iter().map(|group| ((hub.clone(), group.group), group.subscribers)));
    }
    let mut groups: Vec<GroupView> = groups.into_iter().map(view).collect();
    for group in &mut groups {
        if let Some(hub) = &group.served_by
            && let Some(there) = subscribers.remove(&(hub.clone(), group.group.clone()))
        {
            group.subscribers = there;
        }
    }
    if listing.is_paged() {
        count(&api.hub.bus, &caller, &mut groups).await?;
    }
    match listing.field {
        "subscribers" => listing.sort_by_number(&mut groups, |group| group.subscribers as f64),
        "created_ts" => listing.sort_by_number(&mut groups, |group| group.created_ts as f64),
        "lag_events" => listing.sort_by_number(&mut groups, |group| group.lag_events.unwrap_or_default() as f64),
        "in_flight" => listing.sort_by_number(&mut groups, |group| group.in_flight.unwrap_or_default() as f64),
        _ => listing.sort_by_name(&mut groups),
    }
    let ListPage { items: groups, total, next } = listing.page(groups);
    Ok(Json(GroupList { groups, hidden, silent_hubs: others.silent, total, next }))
}

/// Lags and leases of all groups, each in one look, as far as the caller may see the topics.
async fn count(bus: &Bus, caller: &Caller, groups: &mut [GroupView]) -> Result<(), Error> {
    let mut lags: HashMap<GroupName, u64> = HashMap::new();
    for lag in bus.lag_counts().await? {
        if caller.may_in_group(Action::Ops, &lag.topic, &lag.group).is_ok() {
            *lags.entry(lag.group).or_default() += lag.lag_events;
        }
    }
    let mut in_flight: HashMap<GroupName, u64> = HashMap::new();
    for meters in bus.meters().groups {
        if caller.may_in_group(Action::Ops, &meters.topic, &meters.group).is_ok() {
            *in_flight.entry(meters.group).or_default() += meters.in_flight;
        }
    }
    for group in groups {
        group.lag_events = Some(lags.get(&group.group).copied().unwrap_or_default());
        group.in_flight = Some(in_flight.get(&group.group).copied().unwrap_or_default());
    }
    Ok(())
}

#[utoipa::path(
    get,
    path = "/groups/{group}",
    operation_id = "getGroup",
    tag = "groups",
    summary = "Get a group",
    params(("group" = String, Path)),
    responses((status = 200, description = "The group", body = GroupView), Problems),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    GroupInPath(group): GroupInPath,
) -> Result<Json<GroupView>, Problem> {
    let info = find(&api.hub.bus, &caller, Action::Ops, &group).await?;
    // Who subscribes is known where it is served.
    super::forward::check_here(&api.hub.bus, &group).await?;
    let members = api.hub.bus.members(&group).await?;
    let parked = api.hub.bus.parked_in_group(&group, PARKED_SHOWN).await?;
    let parked = parked.into_iter().map(|(topic, key)| parked::view(topic, key)).collect();
    Ok(Json(GroupView { members: members.into_iter().map(member).collect(), parked, ..view(info) }))
}

/// Whether something was taken out of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hidden {
    Nothing,
    Some,
}

/// Takes out the subscriptions that the caller may not see.
fn hide(caller: &Caller, group: &mut GroupInfo) -> Hidden {
    let (name, before) = (group.name.clone(), group.subscriptions.len());
    let may = |subscription: &GroupSubscription| {
        subscription.topics.iter().all(|pattern| caller.may_all(Action::Ops, pattern, &name).is_ok())
    };
    group.subscriptions.retain(may);
    if group.subscriptions.len() < before { Hidden::Some } else { Hidden::Nothing }
}

/// The group, for a caller that has the right to everything that it reads. Where that is nothing, the group concerns the
/// hub as a whole. Others are not told whether there is one of this name.
pub(super) async fn find(bus: &Bus, caller: &Caller, action: Action, name: &GroupName) -> Result<GroupInfo, Problem> {
    let group = bus.group(name).await?;
    let may_all = |pattern: &TopicPattern| caller.may_all(action, pattern, name).is_ok();
    let may_know = match &group {
        Some(group) if !group.subscriptions.is_empty() => group.patterns().all(may_all),
        Some(_) | None => caller.may_everywhere(action).is_ok(),
    };
    if may_know {
        Ok(group.ok_or_else(|| Error::UnknownGroup { group: name.clone() })?)
    } else {
        Err(caller.forbidden(action, &format!("all that group {name} reads, if it exists")))
    }
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
        lag_events: None,
        in_flight: None,
        members: Vec::new(),
        parked: Vec::new(),
    }
}

fn member(info: GroupMemberInfo) -> GroupMemberView {
    GroupMemberView {
        member: info.member,
        subject: info.subject,
        address: info.address,
        since_ts: info.since_ms,
        topics: info.topics,
        in_flight: info.in_flight,
        max_in_flight: info.max_in_flight,
        paused: info.is_paused,
        oldest_lease_ms: info.oldest_lease.map(millis),
    }
}

fn subscription(GroupSubscription { topics, options }: GroupSubscription) -> SubscriptionView {
    let options = GroupOptionsView {
        from: options.from.to_string(),
        mode: options.mode,
        partitions: options.partitions,
        order: options.order,
        park: options.park,
        filter: options.filter,
        max_attempts: options.max_attempts,
        backoff: options.backoff,
        expire_after_ms: options.expire_after_ms,
    };
    SubscriptionView { topics, options }
}
