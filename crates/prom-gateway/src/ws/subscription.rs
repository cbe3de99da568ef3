//! A subscription as its connection holds it.

use std::sync::Arc;

use prom_protocol::ErrorCode;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::{SubscriptionName, Which};
use prom_types::{GroupName, TopicPattern};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::connection::Connection;
use super::inflight::{Inflight, NamedTickets};
use super::relay::RelayLink;
use super::seat::MemberSeat;
use super::sight::Sight;

pub struct Subscribed {
    /// Everything it subscribes to.
    pub patterns: Vec<TopicPattern>,
    pub kind: SubscriptionKind,
    pub sight: Sight,
    /// Writes what it delivers.
    pub task: JoinHandle<()>,
}

pub enum SubscriptionKind {
    Group(InGroup),
    /// No group, no leases; true while it is paused.
    Tail(watch::Sender<bool>),
}

#[derive(Clone)]
pub struct InGroup {
    pub group: GroupName,
    pub seat: Arc<MemberSeat>,
}

impl Subscribed {
    /// Nothing more comes, and leases go back.
    pub fn end(&self) {
        match &self.kind {
            SubscriptionKind::Group(group) => group.seat.end(),
            SubscriptionKind::Tail(_) => self.task.abort(),
        }
    }

    pub fn in_group(&self) -> Option<&InGroup> {
        match &self.kind {
            SubscriptionKind::Group(group) => Some(group),
            SubscriptionKind::Tail(_) => None,
        }
    }
}

impl Connection {
    pub(super) fn subscribed(&self, name: &SubscriptionName) -> Result<&Subscribed, Problem> {
        self.subscriptions.get(name).ok_or_else(|| not_subscribed(&name.topic, name.group.as_deref()))
    }

    /// What a settling frame names, wherever it is leased: first in the subscription of that name, then in
    /// the others of the group that reach the topic.
    pub(super) fn leased(
        &self,
        topic: &str,
        group: &str,
        which: &Which,
        get: impl Fn(&mut Inflight, &Which) -> NamedTickets,
    ) -> Result<NamedTickets, Problem> {
        let mut all = NamedTickets::nothing(which);
        let mut subscribed = false;
        for (_, in_group) in self.of_group(topic, group) {
            subscribed = true;
            let Some(local) = in_group.seat.here() else {
                continue;
            };
            let found = get(&mut local.inflight.lock(), &all.missing);
            all.tickets.extend(found.tickets);
            all.names.extend(found.names);
            all.missing = found.missing;
            if all.missing.is_empty() {
                break;
            }
        }
        if subscribed { Ok(all) } else { Err(not_subscribed(topic, Some(group))) }
    }

    /// The way to the hub that serves the group, where that is another one.
    pub(super) fn link_of(&self, topic: &str, group: &str) -> Option<Arc<RelayLink>> {
        if self.links.is_unused() {
            return None;
        }
        self.of_group(topic, group).find_map(|(_, in_group)| in_group.seat.there())
    }

    /// The subscriptions of a group that a topic may belong to, the one of that name first.
    pub(super) fn of_group(&self, topic: &str, group: &str) -> impl Iterator<Item = (&Subscribed, &InGroup)> {
        let of_group = |(name, subscribed): (&'_ SubscriptionName, &'_ Subscribed)| {
            let named = name.topic == topic;
            let covers = named || subscribed.patterns.iter().any(|pattern| pattern.matches(topic));
            (name.group.as_deref() == Some(group) && covers).then_some(named)
        };
        let mut found: Vec<(bool, &Subscribed)> = self
            .subscriptions
            .iter()
            .filter_map(|(name, subscribed)| Some((of_group((name, subscribed))?, subscribed)))
            .collect();
        found.sort_unstable_by_key(|(named, _)| !*named);
        found.into_iter().filter_map(|(_, subscribed)| Some((subscribed, subscribed.in_group()?)))
    }

    /// Every subscription ends; leases go back at once.
    pub(super) fn end_subscriptions(&mut self) {
        self.subscriptions.values().for_each(Subscribed::end);
        self.subscriptions.clear();
    }
}

fn not_subscribed(topic: &str, group: Option<&str>) -> Problem {
    let msg = match group {
        Some(group) => format!("this connection is not subscribed to {topic} in group {group}"),
        None => format!("this connection is not subscribed to {topic} without a group"),
    };
    Problem::new(ErrorCode::NotSubscribed, msg)
}
