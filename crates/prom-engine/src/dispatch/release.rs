//! An operator takes leases back.

use std::time::Duration;

use prom_types::Offset;

use super::unsettled::{DeadLetter, EventState, Unsettled};
use super::{Dispatcher, SubscriberId};

impl Dispatcher {
    /// Ends the leases that are meant. Each counts as returned, not as a failed attempt, and its event is due at once. Its
    /// holder can settle it no more. Returns what was released, by offset, and who held it.
    pub fn release(
        &mut self,
        now: Duration,
        is_meant: impl Fn(Offset, SubscriberId) -> bool,
    ) -> Vec<(Offset, SubscriberId)> {
        self.tick(now);
        let held = self.unsettled.leases().filter(|(offset, lease)| is_meant(*offset, lease.subscriber));
        let mut held: Vec<_> = held.collect();
        held.sort_unstable_by_key(|(offset, _)| *offset);
        let mut released = Vec::with_capacity(held.len());
        for (offset, lease) in held {
            let Some(event) = self.unsettled.take(offset) else {
                continue;
            };
            self.subscribers.release(lease.subscriber);
            if self.is_void(offset) {
                continue;
            }
            self.count_return(offset, "an operator took it back from its holder");
            let state = if self.is_at_limit(offset) {
                EventState::Dead(DeadLetter::Queued { failed_writes: 0 })
            } else {
                EventState::Due
            };
            self.unsettled.put(offset, Unsettled { state, ..event });
            released.push((offset, lease.subscriber));
        }
        released
    }
}

#[cfg(test)]
mod tests {
    use prom_store::{Bounds, CursorState};

    use super::*;
    use crate::dispatch::{DispatchOptions, NotLeased, ScannedEvent};

    #[test]
    fn a_released_event_is_due_at_once_as_a_return_and_its_old_holder_settles_nothing() {
        let bounds = Bounds { start: 0, next: 2 };
        let mut dispatcher = Dispatcher::new(DispatchOptions::default(), CursorState::at(0), bounds, 1);
        let seen = |offset| ScannedEvent { offset, key_hash: None, lane: 0, wanted: true };
        dispatcher.join(1, Duration::from_secs(30));
        dispatcher.join(2, Duration::from_secs(30));
        dispatcher.scanned(0, 2, [seen(0), seen(1)]);
        let mut leased = Vec::new();
        dispatcher.lease(Duration::ZERO, 1, 2, &mut leased);
        let old = leased[0].lease;
        assert_eq!(dispatcher.release(Duration::from_secs(1), |offset, _| offset == 0), [(0, 1)]);
        assert_eq!(dispatcher.release(Duration::from_secs(1), |_, subscriber| subscriber == 2), []);
        assert_eq!(dispatcher.ack(1, 0, old), Err(NotLeased));
        leased.clear();
        dispatcher.lease(Duration::from_secs(1), 2, 2, &mut leased);
        assert_eq!((leased.len(), leased[0].offset, leased[0].attempt), (1, 0, 1), "no attempt is counted");
        assert!(leased[0].redelivered);
        assert!(dispatcher.ack(2, 0, leased[0].lease).is_ok());
    }

    #[test]
    fn how_long_and_how_often_a_lease_was_renewed_is_known() {
        let bounds = Bounds { start: 0, next: 1 };
        let mut dispatcher = Dispatcher::new(DispatchOptions::default(), CursorState::at(0), bounds, 1);
        dispatcher.join(1, Duration::from_secs(30));
        dispatcher.scanned(0, 1, [ScannedEvent { offset: 0, key_hash: None, lane: 0, wanted: true }]);
        let mut leased = Vec::new();
        dispatcher.lease(Duration::from_secs(5), 1, 1, &mut leased);
        for second in [20, 40, 60] {
            let now = Duration::from_secs(second);
            dispatcher.modack(now, 1, 0, leased[0].lease, Duration::from_secs(30)).unwrap();
        }
        let held = &dispatcher.status().held[0];
        assert_eq!((held.offset, held.since, held.renewals), (0, Duration::from_secs(5), 3));
        assert_eq!(dispatcher.oldest_leases(), [(1, Duration::from_secs(5))]);
    }
}
