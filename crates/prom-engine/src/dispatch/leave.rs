//! A subscriber goes, and what it held is given back.

use std::time::Duration;

use prom_types::Offset;

use super::unsettled::{DeadLetter, EventState, Unsettled};
use super::{Dispatcher, SubscriberId};

/// Why a subscriber leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// Its connection ended. Each event it held counts as returned: not a failed attempt, but an
    /// event that ends connections again and again is poison.
    Returned,
    /// The hub stops. No event is to blame.
    Shutdown,
}

impl Dispatcher {
    /// Leases that are over already are failed attempts; the others are given back and due at once.
    pub fn leave(&mut self, now: Duration, subscriber: SubscriberId, leaving: Leaving) {
        self.tick(now);
        self.subscribers.remove(subscriber);
        if let Some(lanes) = &mut self.lanes {
            lanes.let_go_of(subscriber);
        }
        let held = self.unsettled.offsets_where(
            |_, event| matches!(event.state, EventState::Leased(lease) if lease.subscriber == subscriber),
        );
        for offset in held {
            let Some(event) = self.unsettled.take(offset) else {
                continue;
            };
            if self.is_void(offset) {
                continue;
            }
            if leaving == Leaving::Returned {
                self.count_return(offset, "the connection ended while it was being handled");
            }
            let state = if self.is_at_limit(offset) {
                EventState::Dead(DeadLetter::Queued { failed_writes: 0 })
            } else {
                EventState::Due
            };
            self.unsettled.put(offset, Unsettled { state, ..event });
        }
    }

    pub(super) fn count_return(&mut self, offset: Offset, reason: &str) {
        let failures = self.failures.entry(offset).or_default();
        failures.returns = failures.returns.saturating_add(1);
        failures.reason = Some(reason.to_owned());
        self.changes.fail(offset);
    }
}
