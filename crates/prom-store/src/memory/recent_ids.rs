//! The ids in the dedupe window, forgotten as they leave it.

use std::collections::VecDeque;

use hashbrown::HashMap;
use prom_types::limits::DEDUPE_WINDOW_MS;
use prom_types::{EpochMs, EventId};

use crate::StoredAt;

#[derive(Default)]
pub(super) struct RecentIds {
    places: HashMap<EventId, StoredAt>,
    /// In storage order, oldest first.
    order: VecDeque<(EventId, StoredAt)>,
}

impl RecentIds {
    /// Where `id` was stored, if an event stored at `now` still has it in its window.
    pub fn place_within(&self, id: &EventId, now: EpochMs) -> Option<StoredAt> {
        self.places.get(id).filter(|place| is_within(place.stored_ts, now)).copied()
    }

    pub fn remember(&mut self, id: EventId, place: StoredAt) {
        self.places.insert(id, place);
        self.order.push_back((id, place));
    }

    pub fn forget_before_window(&mut self, now: EpochMs) {
        while let Some((id, place)) = self.order.front() {
            if is_within(place.stored_ts, now) {
                break;
            }
            // An id that was stored again keeps its newer entry.
            if self.places.get(id) == Some(place) {
                self.places.remove(id);
            }
            self.order.pop_front();
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.order.len()
    }
}

fn is_within(stored_ts: EpochMs, now: EpochMs) -> bool {
    now - stored_ts < DEDUPE_WINDOW_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_outside_the_window_take_no_memory() {
        let mut ids = RecentIds::default();
        for n in 0..1000u64 {
            let now = n as EpochMs * 60_000;
            ids.forget_before_window(now);
            ids.remember(EventId::derived(&n.to_string()), StoredAt { offset: n, stored_ts: now });
        }
        assert_eq!(ids.len(), 10);
        assert_eq!(ids.places.len(), 10);
    }

    #[test]
    fn an_id_stored_again_is_known_by_its_newer_entry() {
        let mut ids = RecentIds::default();
        let id = EventId::derived("a");
        ids.remember(id, StoredAt { offset: 0, stored_ts: 0 });
        let again = StoredAt { offset: 7, stored_ts: DEDUPE_WINDOW_MS };
        ids.remember(id, again);
        ids.forget_before_window(DEDUPE_WINDOW_MS);
        assert_eq!(ids.place_within(&id, DEDUPE_WINDOW_MS), Some(again));
        assert_eq!(ids.len(), 1);
    }
}
