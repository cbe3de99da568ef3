//! The beginning of what counts moved: retention took the oldest events, or an operator moved the cursor forward.

use prom_store::Bounds;
use prom_types::Offset;

use super::Dispatcher;
use super::unsettled::{DeadLetter, EventState};

impl Dispatcher {
    /// The bounds as they were told last.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Learns the log's bounds. A start beyond the floor settles everything before it.
    pub fn bounds_moved(&mut self, bounds: Bounds) {
        self.bounds = bounds;
        self.settle_before(bounds.start);
    }

    /// How many offsets before `start` are not settled.
    pub fn unsettled_before(&self, start: Offset) -> u64 {
        let floor = self.progress.floor();
        match start.checked_sub(floor) {
            Some(offsets) => offsets - self.progress.above().count_within(floor..start),
            None => 0,
        }
    }

    /// Settles everything before `start`, and keeps what is settled beyond it. A lease on such an event goes
    /// on to its end, because its holder's window is still taken; however it ends, it changes nothing.
    pub fn settle_before(&mut self, start: Offset) {
        let floor = self.progress.floor();
        if start <= floor {
            return;
        }
        self.settle(floor..start);

        let mut unblocked = Vec::new();
        while let Some(fresh) = self.ready.pop_front_if(|fresh| fresh.offset < start) {
            unblocked.push((fresh.key, 0));
        }
        if let Some(lanes) = &mut self.lanes {
            lanes.forget_before(start, &mut unblocked);
        }
        for offset in self.unsettled.offsets_where(|offset, _| offset < start && !self.is_given(offset)) {
            let Some(event) = self.unsettled.get(offset).copied() else {
                continue;
            };
            let key = match event.state {
                EventState::Leased(_) => self.unsettled.take_key(offset),
                // Its letter may be written all the same, and park its key: that is seen when it is.
                EventState::Dead(DeadLetter::Taken { .. }) => self.unsettled.take(offset).and_then(|event| event.key),
                EventState::Dead(_) => {
                    self.letter_forgotten(offset);
                    self.unsettled.take(offset).and_then(|event| event.key)
                }
                _ => self.unsettled.take(offset).and_then(|event| event.key),
            };
            unblocked.push((key, event.lane));
        }
        self.keys.forget_before(start);
        unblocked.into_iter().for_each(|(key, lane)| self.unblock(key, lane));
        self.skip_what_is_settled();
    }
}
