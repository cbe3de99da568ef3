//! Settling one event that no subscriber settles.

use prom_types::Offset;

use super::Dispatcher;
use super::ack::Settled;

impl Dispatcher {
    /// Settles the event also while a subscriber holds it. The answer of that subscriber then changes nothing.
    pub fn skip(&mut self, offset: Offset) -> Settled {
        if self.progress.is_settled(offset) {
            return Settled::AlreadySettled;
        }
        if offset < self.scan_next {
            self.vanished(offset);
        } else {
            self.settle(offset..offset + 1);
            let at = self.settled_ahead.partition_point(|range| range.start < offset);
            self.settled_ahead.insert(at, offset..offset + 1);
            self.skip_what_is_settled();
        }
        Settled::Now
    }
}
