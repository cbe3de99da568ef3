//! An event that was scanned is not there any more.

use prom_types::Offset;

use super::Dispatcher;
use super::unsettled::EventState;

impl Dispatcher {
    /// Retention or compaction took the event before it could be read. It counts as settled.
    pub fn vanished(&mut self, offset: Offset) {
        self.letter_forgotten(offset);
        if let Some(event) = self.unsettled.take(offset) {
            if let EventState::Leased(lease) = event.state {
                self.subscribers.release(lease.subscriber);
            }
            if offset >= self.progress.floor() {
                self.settle_event(offset, event.key, event.lane);
            }
        } else if let Some((key, lane)) = self.lanes.as_mut().and_then(|lanes| lanes.forget(offset)) {
            self.settle_event(offset, key, lane);
        } else if let Ok(at) = self.ready.binary_search_by_key(&offset, |fresh| fresh.offset) {
            let key = self.ready.remove(at).and_then(|fresh| fresh.key);
            self.settle_event(offset, key, 0);
        } else if self.keys.forget(offset) {
            self.settle(offset..offset + 1);
        }
    }
}
