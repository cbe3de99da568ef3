//! The ids in the dedupe window of one log, by minute of storing. A minute that has left the window is dropped whole.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use prom_store::StoredAt;
use prom_types::limits::DEDUPE_WINDOW_MS;
use prom_types::{EpochMs, EventId, Offset};

const MINUTE_MS: EpochMs = 60_000;

#[derive(Debug, Default)]
pub struct IdWindow {
    minutes: BTreeMap<EpochMs, HashMap<EventId, Offset>>,
    /// From which offset on events have which time: one entry per batch.
    times: BTreeMap<Offset, EpochMs>,
    /// Everything in the window has been read.
    complete: bool,
}

impl IdWindow {
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    pub fn completed(&mut self) {
        self.complete = true;
    }

    /// Where `id` was stored, if an event stored at `now` still has it in its window.
    pub fn place_within(&self, id: &EventId, now: EpochMs) -> Option<StoredAt> {
        let newest_first = self.minutes.values().rev();
        let offset = newest_first.filter_map(|ids| ids.get(id)).copied().max()?;
        let (_, &stored_ts) = self.times.range(..=offset).next_back()?;
        is_within(stored_ts, now).then_some(StoredAt { offset, stored_ts })
    }

    pub fn remember(&mut self, id: EventId, place: StoredAt) {
        let ids = self.minutes.entry(place.stored_ts.div_euclid(MINUTE_MS)).or_default();
        let known = ids.entry(id).or_insert(place.offset);
        *known = (*known).max(place.offset);
        if self.times.range(..=place.offset).next_back().is_none_or(|(_, &known)| known != place.stored_ts) {
            self.times.insert(place.offset, place.stored_ts);
        }
    }

    pub fn forget_before_window(&mut self, now: EpochMs) {
        let gone = |minute: EpochMs| !is_within((minute + 1) * MINUTE_MS, now);
        while self.minutes.first_key_value().is_some_and(|(&minute, _)| gone(minute)) {
            self.minutes.pop_first();
        }
        // The first entry also covers the offsets between it and the next.
        while self.times.len() > 1 && self.times.values().nth(1).is_some_and(|&stored_ts| !is_within(stored_ts, now)) {
            self.times.pop_first();
        }
    }
}

pub fn is_within(stored_ts: EpochMs, now: EpochMs) -> bool {
    now - stored_ts < DEDUPE_WINDOW_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u64) -> EventId {
        EventId::derived(&n.to_string())
    }

    #[test]
    fn ids_outside_the_window_take_no_memory() {
        let mut window = IdWindow::default();
        for n in 0..1000 {
            let now = n as EpochMs * MINUTE_MS;
            window.forget_before_window(now);
            window.remember(id(n), StoredAt { offset: n, stored_ts: now });
        }
        assert!(window.minutes.len() <= 12, "{}", window.minutes.len());
        assert!(window.times.len() <= 12, "{}", window.times.len());
    }

    #[test]
    fn an_id_is_known_to_the_millisecond() {
        let mut window = IdWindow::default();
        let place = StoredAt { offset: 7, stored_ts: 59_999 };
        window.remember(id(1), place);
        let last = place.stored_ts + DEDUPE_WINDOW_MS - 1;
        window.forget_before_window(last);
        assert_eq!(window.place_within(&id(1), last), Some(place));
        assert_eq!(window.place_within(&id(1), last + 1), None);
    }

    #[test]
    fn older_ids_may_come_after_younger_ones() {
        let mut window = IdWindow::default();
        let (older, younger) = (StoredAt { offset: 1, stored_ts: 5 }, StoredAt { offset: 900, stored_ts: 500_000 });
        window.remember(id(1), younger);
        window.remember(id(1), older);
        window.remember(id(2), older);
        assert_eq!(window.place_within(&id(1), 500_001), Some(younger));
        assert_eq!(window.place_within(&id(2), 500_001), Some(older));
    }
}
