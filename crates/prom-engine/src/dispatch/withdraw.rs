//! Taking back a lease whose event never reached a handler.

use std::time::Duration;

use prom_types::Offset;

use super::unsettled::{DeadLetter, State, Unsettled};
use super::{Dispatcher, LeaseId, SubscriberId};

impl Dispatcher {
    /// The event waited for the subscriber and was not seen: it is due again at once, and neither an
    /// attempt nor a return is counted. A lease that has ended is left alone.
    pub fn withdraw(&mut self, now: Duration, subscriber: SubscriberId, offset: Offset, lease: LeaseId) {
        self.tick(now);
        let Some(event) = self.unsettled.take_leased(offset, subscriber, lease) else {
            return;
        };
        self.subscribers.release(subscriber);
        if offset < self.progress.floor() {
            return;
        }
        let state = match self.is_at_limit(offset) {
            true => State::Dead(DeadLetter::Queued { failed_writes: 0 }),
            false => State::Due,
        };
        self.unsettled.put(offset, Unsettled { state, ..event });
    }
}
