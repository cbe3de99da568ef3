//! Going back in the log.

use prom_store::{Bounds, RangeSet};
use prom_types::Offset;

use super::Dispatcher;
use super::progress::SettledOffsets;
use super::unsettled::EventState;

impl Dispatcher {
    /// Starts over at `floor`. Everything in flight is fenced: it cannot be settled any more. What
    /// was counted and not yet taken as a change is forgotten, as the stored cursor forgets it.
    pub fn reset(&mut self, floor: Offset, bounds: Bounds) {
        for offset in self.unsettled.offsets_where(|_, event| matches!(event.state, EventState::Leased(_))) {
            if let Some(lease) = self.unsettled.lease(offset) {
                self.subscribers.release(lease.subscriber);
            }
        }
        self.unsettled.clear();
        self.ready.clear();
        if let Some(lanes) = &mut self.lanes {
            lanes.clear();
        }
        self.keys.clear();
        self.failures.clear();
        // Both are taken in again from the store.
        self.parked = None;
        self.given.iter_mut().for_each(|given| given.clear());
        self.changes.reset();
        self.settled_ahead.clear();
        self.progress = SettledOffsets::new(floor, RangeSet::default());
        self.scan_next = floor;
        self.bounds_moved(bounds);
    }
}
