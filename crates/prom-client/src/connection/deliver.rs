//! EVENT, EVENTS and GAP: into the subscription they are for; and leases that are renewed.

use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::event::Delivered;
use tokio::time::Instant;

use super::session::Session;
use crate::assignment::AssignmentChange;
use crate::feed::{Fill, Received};
use crate::settle::{PendingSettlement, SettleVerdict};
use crate::subscription::lease_of;
use crate::{Gap, StoredEvent};

impl Session<'_> {
    pub fn deliver(&mut self, delivered: Delivered) -> Result<(), String> {
        let Delivered { name, events, starts } = delivered;
        // What was on its way when a subscription ended is given back by the hub.
        let Some(entry) = self.work.subscriptions.get(&name).filter(|entry| entry.is_fed()) else {
            return Ok(());
        };
        let now = Instant::now();
        let mut received = Vec::with_capacity(events.len());
        let mut starts = starts.unwrap_or_default().into_iter();
        for (text, lease) in events {
            let event = match starts.next() {
                Some(start) => StoredEvent::begun(text, start, &mut entry.last_topic)?,
                None => StoredEvent::read(text, &mut entry.last_topic)?,
            };
            if lease.is_none() && !entry.feed.is_tail() {
                return Err("an event for a group without a lease".to_owned());
            }
            let is_new = entry.progress.as_mut().is_none_or(|progress| progress.note(&event));
            if is_new {
                received.push(Received::new(event, lease, self.epoch, now));
            }
        }
        let look_at = received.iter().filter_map(|one| entry.feed.look_at(one, now)).min();
        match entry.feed.push(received) {
            Fill::Room => {}
            Fill::Full => self.work.subscriptions.mark_due(&name),
            Fill::Overfull => return Err(format!("more events for {} than its window holds", name.topic)),
        }
        if let Some(at) = look_at {
            self.work.subscriptions.renew_by(at);
        }
        Ok(())
    }

    pub fn hear_gap(&mut self, name: &SubscriptionName, gap: Gap) {
        if let Some(entry) = self.work.subscriptions.get(name).filter(|entry| entry.is_fed()) {
            self.work.core.teller.tell_gap(name, &gap);
            entry.feed.push_gap(gap);
        }
    }

    pub fn hear_assignment(&mut self, name: &SubscriptionName, change: AssignmentChange) {
        if let Some(entry) = self.work.subscriptions.get(name).filter(|entry| entry.is_fed()) {
            entry.feed.push_assignment(change);
        }
    }

    /// Renews at half time what waits here and what handlers work on. What the application does not take goes back, and
    /// the hub is asked to pause until it takes again.
    pub fn renew_leases(&mut self, now: Instant) {
        let mut next: Option<Instant> = None;
        let mut given_back = Vec::new();
        for entry in self.work.subscriptions.all() {
            let feed = entry.feed.clone();
            let due = feed.take_due(now, |received| lease_of(&feed, received));
            if !due.given_back.is_empty() {
                given_back.push(feed.name.clone());
            }
            let renewals = due.renewals.into_iter().map(|(lease, extend)| (lease, SettleVerdict::Modack { extend }));
            let returns = due.given_back.into_iter().map(|lease| (lease, SettleVerdict::GiveBack));
            let all = renewals.chain(returns).map(|(lease, verdict)| PendingSettlement::unwatched(lease, verdict));
            self.work.settlements.extend(all);
            next = [next, due.next].into_iter().flatten().min();
        }
        self.work.subscriptions.renew_at = next;
        given_back.iter().for_each(|name| self.work.subscriptions.mark_due(name));
    }
}
