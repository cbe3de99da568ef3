//! The ids in the dedupe window of one log, by the minute in which this hub learned of them. A minute is dropped whole:
//! when its youngest id has left the window, and in any case when a window has passed since. The time of a log stands
//! still after a hub's clock was ahead, and must not keep ids in memory.

use std::collections::BTreeMap;
use std::time::Duration;

use hashbrown::HashMap;
use prom_store::StoredAt;
use prom_types::limits::DEDUPE_WINDOW_MS;
use prom_types::{EpochMs, EventId, Offset};

const MINUTE: Duration = Duration::from_secs(60);
const WINDOW: Duration = Duration::from_millis(DEDUPE_WINDOW_MS.unsigned_abs());

#[derive(Debug, Default)]
pub struct IdWindow {
    minutes: BTreeMap<u64, MinuteOfIds>,
    /// From which offset on events have which time: one entry per batch.
    times: BTreeMap<Offset, EpochMs>,
    /// Everything in the window has been read.
    complete: bool,
}

#[derive(Debug, Default)]
struct MinuteOfIds {
    ids: HashMap<EventId, Offset>,
    youngest: EpochMs,
}

impl IdWindow {
    /// How many ids are in memory.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.minutes.values().map(|minute| minute.ids.len()).sum()
    }

    pub fn is_complete(&self) -> bool {
        self.complete
    }

    pub fn completed(&mut self) {
        self.complete = true;
    }

    /// Where `id` was stored, if an event stored at `now` still has it in its window.
    pub fn place_within(&self, id: &EventId, now: EpochMs) -> Option<StoredAt> {
        let newest_first = self.minutes.values().rev();
        let offset = newest_first.filter_map(|minute| minute.ids.get(id)).copied().max()?;
        let (_, &stored_ts) = self.times.range(..=offset).next_back()?;
        is_within(stored_ts, now).then_some(StoredAt { offset, stored_ts })
    }

    /// `now` is the monotonic time.
    pub fn remember(&mut self, id: EventId, place: StoredAt, now: Duration) {
        let minute = self.minutes.entry(now.as_secs() / MINUTE.as_secs()).or_default();
        minute.youngest = minute.youngest.max(place.stored_ts);
        let known = minute.ids.entry(id).or_insert(place.offset);
        *known = (*known).max(place.offset);
        if self.times.range(..=place.offset).next_back().is_none_or(|(_, &known)| known != place.stored_ts) {
            self.times.insert(place.offset, place.stored_ts);
        }
    }

    /// `last_ts` is the log's time, `now` the monotonic time.
    pub fn forget_before_window(&mut self, last_ts: EpochMs, now: Duration) {
        let is_over = |number: u64| MINUTE * u32::try_from(number + 1).unwrap_or(u32::MAX) + WINDOW <= now;
        while let Some(first) = self.minutes.first_entry()
            && (is_over(*first.key()) || !is_within(first.get().youngest, last_ts))
        {
            first.remove();
        }
        // The first entry also covers the offsets between it and the next.
        while self.times.len() > 1
            && self.times.values().nth(1).is_some_and(|&stored_ts| !is_within(stored_ts, last_ts))
        {
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
            let now = MINUTE * n as u32;
            let stored_ts = now.as_millis() as EpochMs;
            window.forget_before_window(stored_ts, now);
            window.remember(id(n), StoredAt { offset: n, stored_ts }, now);
        }
        assert!(window.len() <= 12, "{}", window.len());
        assert!(window.times.len() <= 12, "{}", window.times.len());
    }

    #[test]
    fn ids_are_forgotten_by_either_clock() {
        let at = |offset, stored_ts| StoredAt { offset, stored_ts };
        let mut standing_still = IdWindow::default();
        for n in 0..1000 {
            standing_still.forget_before_window(7, MINUTE * n as u32);
            standing_still.remember(id(n), at(n, 7), MINUTE * n as u32);
        }
        assert!(standing_still.len() <= 12, "{}", standing_still.len());
        let mut jumping = IdWindow::default();
        for n in 0..1000 {
            jumping.remember(id(n), at(n, 7), Duration::ZERO);
        }
        jumping.forget_before_window(7 + DEDUPE_WINDOW_MS, Duration::ZERO);
        assert_eq!(jumping.len(), 0);
    }

    #[test]
    fn an_id_is_known_to_the_millisecond() {
        let mut window = IdWindow::default();
        let place = StoredAt { offset: 7, stored_ts: 59_999 };
        window.remember(id(1), place, Duration::ZERO);
        let last = place.stored_ts + DEDUPE_WINDOW_MS - 1;
        window.forget_before_window(last, WINDOW - Duration::from_millis(1));
        assert_eq!(window.place_within(&id(1), last), Some(place));
        assert_eq!(window.place_within(&id(1), last + 1), None);
    }

    #[test]
    fn older_ids_may_come_after_younger_ones() {
        let mut window = IdWindow::default();
        let (older, younger) = (StoredAt { offset: 1, stored_ts: 5 }, StoredAt { offset: 900, stored_ts: 500_000 });
        window.remember(id(1), younger, Duration::ZERO);
        window.remember(id(1), older, Duration::ZERO);
        window.remember(id(2), older, Duration::ZERO);
        assert_eq!(window.place_within(&id(1), 500_001), Some(younger));
        assert_eq!(window.place_within(&id(2), 500_001), Some(older));
    }
}
