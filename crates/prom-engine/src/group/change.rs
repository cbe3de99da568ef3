//! Changing a group that exists: what can change on a live group does so at once, the rest is refused
//! with the reason.
//!
//! The document is written first, by compare-and-set; then the dispatchers of this process are told.
//! One that starts meanwhile reads the document after it can be told, so it misses nothing.
//! Among several hubs that is the group's owner; the others refer callers to it.

use std::time::Duration;

use prom_store::Expect;
use prom_types::{GroupName, TopicName, TopicPattern};

use super::document::Agreed;
use super::{GroupDocument, GroupOptions, RequestedOptions, read_group};
use crate::dispatch::task::DispatchRequest;
use crate::limits::CONTENTION_TRIES;
use crate::topic::millis;
use crate::{Backoff, Bus, Error, Mode, Order, Position, audit};

/// What changes; everything left out stays as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupChange {
    /// Failed attempts before an event goes to the dead letters.
    pub max_attempts: Option<u32>,
    /// How long failed events wait.
    pub backoff: Option<Backoff>,
    /// Whether keys that fail are parked from now on. What is parked stays so until it is given back or dropped.
    pub park: Option<bool>,
    /// When the group is deleted.
    pub expire_after: Option<Expiry>,
    /// Refused: it was used once, when the group was made.
    pub from: Option<Position>,
    /// Refused while the group lives: events in flight were handed out in the old order.
    pub order: Option<Order>,
    /// Refused while the group lives: what the old one let pass by counts as settled.
    pub filter: Option<String>,
    /// Refused while the group lives: its partitions have owners, or not.
    pub mode: Option<Mode>,
    /// Refused while the group lives: its keys are divided by the old number.
    pub partitions: Option<u32>,
}

/// When an unused group is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// It stays.
    Never,
    /// After this time without a subscriber.
    After(Duration),
}

impl GroupChange {
    fn check(&self, group: &GroupName) -> Result<(), Error> {
        let refused = [
            (self.from.is_some(), "from", "it is used once, when the group is made; move the cursor instead"),
            (self.order.is_some(), "order", "events in flight were handed out in the old order; use another group"),
            (self.filter.is_some(), "filter", "what the old one held back is settled already; use another group"),
            (self.mode.is_some(), "mode", "the events in flight were divided by the old one; use another group"),
            (self.partitions.is_some(), "partitions", "keys were divided by the old number; use another group"),
        ];
        if let Some((_, option, reason)) = refused.into_iter().find(|(asked, ..)| *asked) {
            return Err(Error::GroupChange { group: group.clone(), option, reason });
        }
        let asked =
            RequestedOptions { max_attempts: self.max_attempts, backoff: self.backoff, ..RequestedOptions::default() };
        asked.check()
    }

    fn apply_to(&self, options: &mut GroupOptions) {
        options.max_attempts = self.max_attempts.or(options.max_attempts);
        options.backoff = self.backoff.unwrap_or(options.backoff);
        options.park = self.park.unwrap_or(options.park);
        options.expire_after_ms = match self.expire_after {
            None => options.expire_after_ms,
            Some(Expiry::Never) => None,
            Some(Expiry::After(unused)) => Some(millis(unused)),
        };
    }
}

impl Bus {
    /// Changes what a group agreed on for a topic or pattern that it subscribes to, and for every
    /// other of its subscriptions that can reach the same topics: those share their options.
    /// Durable when it returns, and written to `system.audit` in the same commit; subscribers that run go on under the new options. With fewer
    /// attempts, what has failed as often already goes to the dead letters.
    pub async fn change_group(&self, topic_or_pattern: &str, group: &str, change: GroupChange) -> Result<(), Error> {
        let core = self.core();
        core.check_open()?;
        let name = GroupName::parse(group)?;
        let pattern = TopicPattern::parse(topic_or_pattern)?;
        change.check(&name)?;
        core.not_elsewhere(&name).await?;
        for _ in 0..CONTENTION_TRIES {
            let Some((mut document, revision)) = read_group(&**self.store(), &name).await? else {
                return Err(Error::UnknownGroup { group: name });
            };
            let before = document.subscriptions.clone();
            let changed = document.change(&pattern, &change);
            if changed.iter().any(|agreed| agreed.options.park && agreed.options.order != Order::Key) {
                let reason =
                    "it keeps the order of a key that fails, and the group has `order` none; use another group";
                return Err(Error::GroupChange { group: name, option: "park", reason });
            }
            if changed.is_empty() {
                return Err(not_subscribed(name, &pattern));
            }
            // It may begin to expire now: its time begins now too.
            document.last_used_ts = document.last_used_ts.max(core.clock.now_ms());
            let mut work = core.unit_of_work();
            work.write(document.write(&name, Expect::Revision(revision))?);
            let subject = self.subject();
            audit::group_changed(&name, &before, &document.subscriptions, subject)?.add_to(&mut work)?;
            match work.send().await {
                Ok(_) => {
                    self.tell_dispatchers(&name, &changed, revision).await;
                    return Ok(());
                }
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended { what: format!("group {name}") })
    }

    async fn tell_dispatchers(&self, name: &GroupName, changed: &[Agreed], made_to: u64) {
        let group = self.core().groups.get(name);
        for log in group.running_logs() {
            if let Some(agreed) = changed.iter().find(|agreed| agreed.matches(log.topic.as_str())) {
                let options = Box::new(agreed.options.clone());
                group.ask(&log, |done| DispatchRequest::Change { options, made_to, done }).await;
            }
        }
    }
}

fn not_subscribed(group: GroupName, pattern: &TopicPattern) -> Error {
    match TopicName::parse(pattern.as_str()) {
        Ok(topic) => Error::NotOfTheGroup { group, topic },
        Err(_) => Error::BadOption {
            option: "topic",
            asked: pattern.as_str().to_owned(),
            reason: "the group subscribes to nothing that this pattern can reach",
        },
    }
}

impl GroupDocument {
    /// Changes every subscription that can reach what `pattern` does, or what another changed one
    /// does; returns them as they are afterwards.
    fn change(&mut self, pattern: &TopicPattern, change: &GroupChange) -> Vec<Agreed> {
        let mut reached = vec![pattern.clone()];
        let mut open: Vec<&mut Agreed> = self.subscriptions.iter_mut().collect();
        let mut changed = Vec::new();
        while let Some(at) = open.iter().position(|agreed| agreed.can_meet(&reached)) {
            let agreed = open.swap_remove(at);
            change.apply_to(&mut agreed.options);
            reached.extend(agreed.topics.iter().cloned());
            changed.push(agreed.clone());
        }
        changed
    }
}
