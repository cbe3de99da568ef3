//! Handing out: an event is leased to one subscriber until it is settled or the deadline comes.

use std::time::Duration;

use prom_types::Offset;

use super::unsettled::{EventLease, EventState, Unsettled};
use super::{Dispatcher, SubscriberId};

/// Fencing token of one lease; never used twice by a dispatcher.
pub type LeaseId = u64;

/// An event that was handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leased {
    /// The event.
    pub offset: Offset,
    /// The lease.
    pub lease: LeaseId,
    /// One more than the failures before.
    pub attempt: u32,
    /// A subscriber had it before: it failed, or was returned.
    pub redelivered: bool,
    /// When the lease ends.
    pub deadline: Duration,
}

/// To whom events are handed out now, and until when.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeaseTerm {
    pub subscriber: SubscriberId,
    pub since: Duration,
    pub deadline: Duration,
}

impl Dispatcher {
    /// Appends up to `room` events for this subscriber: first what is due (again, or because its
    /// key is free now), then fresh ones, each by offset. Nothing is leased while paused.
    pub fn lease(&mut self, now: Duration, subscriber: SubscriberId, room: usize, out: &mut Vec<Leased>) {
        let Some(ack_timeout) = self.subscribers.running_one(subscriber).map(|running| running.ack_timeout) else {
            return;
        };
        let term = LeaseTerm { subscriber, since: now, deadline: now.saturating_add(ack_timeout) };
        if self.lanes.is_some() {
            return self.lease_of_lanes(term, room, out);
        }
        for _ in 0..room {
            let Some((offset, key)) = self.next_event() else {
                return;
            };
            let leased = self.lease_one(offset, key, 0, term);
            out.push(leased);
        }
    }

    /// Whether asking for leases may give some.
    pub fn has_something(&self) -> bool {
        self.lanes.is_some() || !self.ready.is_empty() || self.unsettled.first_due().is_some()
    }

    pub(super) fn lease_one(&mut self, offset: Offset, key: Option<u64>, lane: u32, term: LeaseTerm) -> Leased {
        let id = self.next_lease;
        self.next_lease += 1;
        let LeaseTerm { subscriber, since, deadline } = term;
        let state = EventState::Leased(EventLease { id, subscriber, deadline, since, renewals: 0 });
        self.unsettled.put(offset, Unsettled { key, lane, state });
        let failures = self.failures.get(&offset);
        let attempt = failures.map_or(0, |failures| failures.attempts).saturating_add(1);
        Leased { offset, lease: id, attempt, redelivered: failures.is_some(), deadline }
    }

    /// Too many failed events are waiting for more to be risked.
    pub(super) fn too_many_waiting(&self) -> bool {
        self.unsettled.waiting() + self.unsettled.dead() >= self.options.limits.waiting
    }

    fn next_event(&mut self) -> Option<(Offset, Option<u64>)> {
        if let Some(offset) = self.unsettled.first_due() {
            return self.unsettled.take(offset).map(|event| (offset, event.key));
        }
        if self.too_many_waiting() {
            return None;
        }
        self.ready.pop_front().map(|fresh| (fresh.offset, fresh.key))
    }
}
