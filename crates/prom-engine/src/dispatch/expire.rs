//! Time passes: leases end, waits are over.

use std::time::Duration;

use super::Dispatcher;
use super::unsettled::{DeadLetter, EventState, Unsettled};

impl Dispatcher {
    /// Ends every lease whose deadline has come (a failed attempt each) and makes due what has
    /// waited long enough.
    pub fn tick(&mut self, now: Duration) {
        while let Some((offset, event, lease)) = self.unsettled.take_expired(now) {
            self.subscribers.release(lease.subscriber);
            if !self.is_void(offset) {
                let reason = "it was not settled before its deadline".to_owned();
                self.fail(now, offset, event, Some(reason), None);
            }
        }
        while let Some((offset, event)) = self.unsettled.take_waited(now) {
            let state = match event.state {
                EventState::Dead(DeadLetter::Failing { failed_writes, .. }) => {
                    EventState::Dead(DeadLetter::Queued { failed_writes })
                }
                _ => EventState::Due,
            };
            self.unsettled.put(offset, Unsettled { state, ..event });
        }
    }

    /// When to call [`Self::tick`] next: never later than something is due, at times a little earlier.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.unsettled.next_deadline()
    }
}
