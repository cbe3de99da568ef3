//! The ids of the dedupe window, forgotten as they leave it.

use std::collections::VecDeque;

use hashbrown::HashMap;
use prom_types::limits::DEDUPE_WINDOW_MS;
use prom_types::{EpochMs, EventId, Offset};

/// Where an id was stored, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub offset: Offset,
    pub stored_ts: EpochMs,
}

#[derive(Default)]
pub(super) struct RecentIds {
    places: HashMap<EventId, Place>,
    /// In the order of storing, so that the oldest are in front.
    order: VecDeque<(EventId, Place)>,
}

impl RecentIds {
    /// The place of `id` if an event stored at `now` still has it within its window.
    pub fn place_within(&self, id: &EventId, now: EpochMs) -> Option<Place> {
        self.places.get(id).filter(|place| is_within(place.stored_ts, now)).copied()
    }

    pub fn remember(&mut self, id: EventId, place: Place) {
        self.places.insert(id, place);
        self.order.push_back((id, place));
    }

    pub fn forget_before_window(&mut self, now: EpochMs) {
        while let Some((id, place)) = self.order.front() {
            if is_within(place.stored_ts, now) {
                break;
            }
            // An id that was stored again has a younger place, which stays.
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
            ids.remember(EventId::derived(&n.to_string()), Place { offset: n, stored_ts: now });
        }
        assert_eq!(ids.len(), 10);
        assert_eq!(ids.places.len(), 10);
    }

    #[test]
    fn an_id_stored_again_is_known_by_its_younger_place() {
        let mut ids = RecentIds::default();
        let id = EventId::derived("a");
        ids.remember(id, Place { offset: 0, stored_ts: 0 });
        let again = Place { offset: 7, stored_ts: DEDUPE_WINDOW_MS };
        ids.remember(id, again);
        ids.forget_before_window(DEDUPE_WINDOW_MS);
        assert_eq!(ids.place_within(&id, DEDUPE_WINDOW_MS), Some(again));
        assert_eq!(ids.len(), 1);
    }
}
