//! The application takes what was handed to it: from now on its time runs.

use std::time::Duration;

use prom_types::Offset;

use super::{Dispatcher, LeaseId, SubscriberId};

impl Dispatcher {
    /// Puts the deadline of a lease where taking the delivery put it. Unlike [`Self::modack`] it
    /// does so even if the old deadline has come, as long as [`Self::tick`] has not ended the lease:
    /// until then the event was the subscriber's to take. A lease that has ended is left alone.
    pub fn taken(&mut self, subscriber: SubscriberId, offset: Offset, lease: LeaseId, deadline: Duration) {
        match self.unsettled.lease(offset) {
            Some(held) if held.id == lease && held.subscriber == subscriber => self.unsettled.extend(offset, deadline),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use prom_store::{Bounds, CursorState};

    use super::*;
    use crate::dispatch::{DispatchOptions, NotLeased, ScannedEvent};

    const TIMEOUT: Duration = Duration::from_secs(30);

    #[test]
    fn the_time_of_a_lease_runs_from_when_its_delivery_was_taken() {
        let bounds = Bounds { start: 0, next: 1 };
        let mut dispatcher = Dispatcher::new(DispatchOptions::default(), CursorState::at(0), bounds, 1);
        let seen = ScannedEvent { offset: 0, key_hash: None, lane: 0, wanted: true };
        dispatcher.join(1, TIMEOUT);
        dispatcher.scanned(0, 1, [seen]);
        let mut leased = Vec::new();
        dispatcher.lease(Duration::ZERO, 1, 1, &mut leased);
        let lease = leased[0].lease;
        dispatcher.taken(1, 0, lease + 1, TIMEOUT * 9);
        dispatcher.taken(2, 0, lease, TIMEOUT * 9);
        dispatcher.taken(1, 0, lease, TIMEOUT * 2);
        dispatcher.tick(TIMEOUT);
        assert_eq!(dispatcher.status().in_flight, 1, "it is still held");
        dispatcher.tick(TIMEOUT * 2);
        assert_eq!(dispatcher.status().in_flight, 0, "and only as long as it was given");
        dispatcher.taken(1, 0, lease, TIMEOUT * 9);
        assert_eq!(dispatcher.ack(1, 0, lease), Err(NotLeased));
    }
}
