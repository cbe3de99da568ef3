//! The leases of what waits in a feed and of what handlers work on: renewed at half time, or given back.

use std::time::Duration;

use tokio::time::Instant;

use super::{Feed, FeedKind, FeedState, Held, Received};
use crate::limits::{GIVE_BACK_AFTER, WAITING_LEASE};
use crate::settle::DeliveryLease;

/// What a look at the leases found.
#[derive(Default)]
pub(crate) struct DueLeases {
    /// To be renewed now, for so long; they are taken for renewed.
    pub renewals: Vec<(DeliveryLease, Duration)>,
    /// To be given back: the application does not take them.
    pub given_back: Vec<DeliveryLease>,
    /// When to look again at the latest.
    pub next: Option<Instant>,
}

impl Feed {
    /// When the leases of what came now have to be looked at; never those of a tail.
    pub fn look_at(&self, received: &Received, now: Instant) -> Option<Instant> {
        match self.kind {
            FeedKind::Group { .. } if self.long_lease().is_some() => Some(now),
            FeedKind::Group { .. } => Some(received.renew_at),
            FeedKind::Tail => None,
        }
    }

    /// Handlers may block the runtime for longer than a short lease lasts: what waits for them gets this one.
    fn long_lease(&self) -> Option<Duration> {
        match self.kind {
            FeedKind::Group { ack_timeout, handlers: Some(_), .. } if ack_timeout < WAITING_LEASE => {
                Some(WAITING_LEASE)
            }
            FeedKind::Group { .. } | FeedKind::Tail => None,
        }
    }

    /// Leases of what waits here and of what handlers work on. What waits costs no attempt: it is renewed, or given back.
    pub fn take_due(&self, now: Instant, mut lease_of: impl FnMut(&Received) -> DeliveryLease) -> DueLeases {
        let mut due = DueLeases::default();
        let FeedKind::Group { ack_timeout, handlers, .. } = self.kind else {
            return due;
        };
        let mut state = self.state.lock();
        state.drop_where(|received| received.deadline <= now);
        if state.is_abandoned(now) {
            due.given_back.extend(state.queue.drain(..).map(|received| lease_of(&received)));
            state.queue_bytes = 0;
            state.is_throttled = true;
        }
        let is_taken_at_once = handlers.is_some_and(|handlers| state.queue.len() + state.held.len() <= handlers);
        let long_lease = self.long_lease().filter(|_| !is_taken_at_once);
        let waiting = long_lease.unwrap_or(ack_timeout);
        // Those that are nearly due come along, so that they share a frame.
        let soon = now + ack_timeout / 8;
        let mut look_by = |at: Instant| due.next = Some(due.next.map_or(at, |next| next.min(at)));
        for received in &mut state.queue {
            let is_short = long_lease.is_some_and(|long| received.deadline < now + long / 2);
            if received.renew_at <= soon || is_short {
                due.renewals.push((lease_of(received), waiting));
                (received.renew_at, received.deadline) = (now + waiting / 2, now + waiting);
            }
            look_by(received.renew_at);
        }
        for held in state.held.values_mut() {
            if held.renew_at <= soon {
                due.renewals.push((held.lease.clone(), ack_timeout));
                held.renew_at = now + ack_timeout / 2;
            }
            look_by(held.renew_at);
        }
        due
    }

    /// The hub says that this lease has ended. A later one on the same event stays.
    pub fn forget(&self, lease: &DeliveryLease) {
        let mut state = self.state.lock();
        state.drop_where(|received| {
            received.came_at == lease.came_at
                && received.event.offset() == lease.offset
                && received.event.partition() == lease.partition
                && received.event.topic() == &lease.topic
        });
        let is_it =
            |held: &DeliveryLease| (held.came_at, held.offset, held.id) == (lease.came_at, lease.offset, lease.id);
        state.held.retain(|_, held| !is_it(&held.lease));
    }

    /// Handlers that have not finished.
    pub fn held(&self) -> usize {
        self.state.lock().held.len()
    }

    /// Its lease is renewed until [`Feed::release`].
    pub fn hold(&self, lease: DeliveryLease, renew_at: Instant) -> u64 {
        let mut state = self.state.lock();
        state.next_held += 1;
        let number = state.next_held;
        state.held.insert(number, Held { lease, renew_at });
        number
    }

    /// Unless the connection was lost meanwhile.
    pub fn held_lease(&self, number: u64) -> Option<DeliveryLease> {
        self.state.lock().held.get(&number).map(|held| held.lease.clone())
    }

    pub fn release(&self, number: u64) {
        self.state.lock().held.remove(&number);
    }
}

impl FeedState {
    /// The application has asked for nothing for so long, and no handler runs, that others should get what waits.
    fn is_abandoned(&self, now: Instant) -> bool {
        let Some(first) = self.queue.front().filter(|_| self.held.is_empty()) else {
            return false;
        };
        let since = self.asked_at.map_or(first.came_at, |asked_at| asked_at.max(first.came_at));
        now.saturating_duration_since(since) >= GIVE_BACK_AFTER
    }
}
