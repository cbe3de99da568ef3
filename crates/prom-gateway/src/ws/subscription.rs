//! A subscription as its connection holds it.

use std::sync::Arc;

use parking_lot::Mutex;
use prom_engine::SubscriptionControl;
use prom_protocol::ErrorCode;
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::err::Problem;
use prom_types::{GroupName, TopicPattern};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::connection::Connection;
use super::inflight::Inflight;

pub struct Subscribed {
    /// Everything it subscribes to.
    pub patterns: Vec<TopicPattern>,
    pub kind: Kind,
    /// Writes what it delivers.
    pub task: JoinHandle<()>,
}

pub enum Kind {
    Group(InGroup),
    /// No group, no leases; true while it is paused.
    Tail(watch::Sender<bool>),
}

#[derive(Clone)]
pub struct InGroup {
    pub group: GroupName,
    pub control: SubscriptionControl,
    pub inflight: Arc<Mutex<Inflight>>,
}

impl Subscribed {
    /// Nothing more comes, and leases go back.
    pub fn end(&self) {
        match &self.kind {
            Kind::Group(group) => group.control.end(),
            Kind::Tail(_) => self.task.abort(),
        }
    }

    pub fn in_group(&self) -> Option<&InGroup> {
        match &self.kind {
            Kind::Group(group) => Some(group),
            Kind::Tail(_) => None,
        }
    }
}

impl Connection {
    pub(super) fn subscribed(&self, name: &SubscriptionName) -> Result<&Subscribed, Problem> {
        self.subscriptions.get(name).ok_or_else(|| not_subscribed(&name.topic, name.group.as_deref()))
    }

    /// The subscription that a settling frame means: by the string that was subscribed to, or by the
    /// topic of an event.
    pub(super) fn settling(&self, topic: &str, group: &str) -> Result<(&Subscribed, &InGroup), Problem> {
        let of_group = || self.subscriptions.iter().filter(|(name, _)| name.group.as_deref() == Some(group));
        let covers = |subscribed: &Subscribed| subscribed.patterns.iter().any(|pattern| pattern.matches(topic));
        // Connections have few subscriptions.
        let by_name = of_group().find(|(name, _)| name.topic == topic);
        let found = by_name.or_else(|| of_group().find(|(_, subscribed)| covers(subscribed))).map(|(_, found)| found);
        found
            .and_then(|subscribed| Some((subscribed, subscribed.in_group()?)))
            .ok_or_else(|| not_subscribed(topic, Some(group)))
    }

    /// Every subscription ends; what was lent goes back at once.
    pub(super) fn end_subscriptions(&mut self) {
        self.subscriptions.values().for_each(Subscribed::end);
        self.subscriptions.clear();
    }
}

fn not_subscribed(topic: &str, group: Option<&str>) -> Problem {
    let msg = match group {
        Some(group) => format!("this connection does not subscribe to {topic} in group {group}"),
        None => format!("this connection does not subscribe to {topic} without a group"),
    };
    Problem::new(ErrorCode::NotSubscribed, msg)
}
