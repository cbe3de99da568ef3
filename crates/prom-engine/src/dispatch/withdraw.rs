//! Taking back a lease whose event never reached a handler.

use prom_types::Offset;

use super::unsettled::{DeadLetter, EventState, Unsettled};
use super::{Dispatcher, LeaseId, SubscriberId};

impl Dispatcher {
    /// The event waited for the subscriber and was not seen: it is due again at once, and neither an
    /// attempt nor a return is counted, also if its deadline has come and [`Self::tick`] has not
    /// seen that. A lease that has ended is left alone.
    pub fn withdraw(&mut self, subscriber: SubscriberId, offset: Offset, lease: LeaseId) {
        let Some(event) = self.unsettled.take_leased(offset, subscriber, lease) else {
            return;
        };
        self.subscribers.release(subscriber);
        if self.is_void(offset) {
            return;
        }
        let state = if self.is_at_limit(offset) {
            EventState::Dead(DeadLetter::Queued { failed_writes: 0 })
        } else {
            EventState::Due
        };
        self.unsettled.put(offset, Unsettled { state, ..event });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prom_store::{Bounds, CursorState};

    use super::*;
    use crate::dispatch::{DispatchOptions, Leaving, ScannedEvent};

    #[test]
    fn a_withdrawn_event_is_due_again_and_nothing_is_counted() {
        let bounds = Bounds { start: 0, next: 1 };
        let mut dispatcher = Dispatcher::new(DispatchOptions::default(), CursorState::at(0), bounds, 1);
        let seen = ScannedEvent { offset: 0, key_hash: None, lane: 0, wanted: true };
        dispatcher.join(1, Duration::from_secs(30));
        dispatcher.scanned(0, 1, [seen]);
        let mut leased = Vec::new();
        for _ in 0..100 {
            leased.clear();
            dispatcher.lease(Duration::ZERO, 1, 10, &mut leased);
            assert_eq!((leased.len(), leased[0].attempt), (1, 1));
            dispatcher.withdraw(1, 0, leased[0].lease);
        }
        let mut released = Vec::new();
        dispatcher.released(&mut released);
        assert_eq!(released, [(1, 100)]);
        dispatcher.withdraw(1, 0, leased[0].lease);
        dispatcher.leave(Duration::ZERO, 1, Leaving::Shutdown);
        assert_eq!(dispatcher.take_changes(), None);
        assert!(dispatcher.take_dead().is_empty());
    }
}
