//! The group's options change while it runs.

use super::unsettled::{DeadLetter, EventState, Unsettled};
use super::{Backoff, Dispatcher};

impl Dispatcher {
    /// From now on under these options. Waits that have begun go on; what has failed as often as is
    /// permitted now, and is not leased, goes to the dead letters.
    pub fn change(&mut self, max_attempts: u32, backoff: Backoff) {
        self.options.max_attempts = max_attempts.max(1);
        self.options.backoff = backoff;
        let at_limit = self.unsettled.offsets_where(|offset, event| {
            matches!(event.state, EventState::Due | EventState::Waiting { .. }) && self.is_at_limit(offset)
        });
        for offset in at_limit {
            if let Some(event) = self.unsettled.take(offset) {
                let state = EventState::Dead(DeadLetter::Queued { failed_writes: 0 });
                self.unsettled.put(offset, Unsettled { state, ..event });
            }
        }
    }
}
