//! Ids and where they were appended, kept so that the newest are found without leaving the processor's cache.
//!
//! ```text
//!   frozen ── frozen ── frozen ── current        strange
//!   each with its lowest and highest id          ids whose time is not about now
//! ```
//!
//! Version 7 ids grow with time, so a fresh one lies above all frozen tables: it costs a look into the current
//! one, which is small enough to stay in the cache and moves only while it grows for the first time. An id whose
//! own time is not about now would make the range of its table useless; those are kept apart.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use prom_types::{EpochMs, EventId, Offset};

/// How many ids a table takes before the next is begun: what fits into a cache of half a megabyte.
const TABLE_IDS: usize = 14_000;
/// Ids that differ more from now than this are strange. Fresh ids of a client whose clock is off by less may lie
/// within as many tables as are filled in that time.
const TIMELY_MS: u64 = 250;

type Ids = HashMap<EventId, Offset, RandomState>;

#[derive(Default)]
pub(super) struct Generations {
    current: Table,
    /// Oldest first; offsets grow from one to the next.
    frozen: Vec<Table>,
    /// The highest id of all that were frozen.
    highest_frozen: Option<EventId>,
    strange: Ids,
}

#[derive(Default)]
struct Table {
    ids: Ids,
    /// `None` while empty.
    range: Option<(EventId, EventId)>,
    /// The highest offset that was ever put in.
    last_offset: Offset,
}

impl Generations {
    pub(super) fn insert(&mut self, id: EventId, offset: Offset, now: EpochMs) {
        if !is_timely(id, now) {
            self.strange.insert(id, offset);
            return;
        }
        if !self.strange.is_empty() {
            // It was strange when it came first; the later place counts.
            self.strange.remove(&id);
        }
        if self.current.ids.len() >= TABLE_IDS {
            self.freeze();
        }
        self.current.insert(id, offset);
    }

    fn freeze(&mut self) {
        let ids = Ids::with_capacity_and_hasher(TABLE_IDS, RandomState::default());
        let frozen = std::mem::replace(&mut self.current, Table { ids, ..Table::default() });
        self.highest_frozen = self.highest_frozen.max(frozen.range.map(|(_, high)| high));
        self.frozen.push(frozen);
    }

    /// Where the id was put last.
    pub(super) fn get(&self, id: EventId) -> Option<Offset> {
        // An id that is in several places was put into `strange` last: it had grown old meanwhile.
        if !self.strange.is_empty()
            && let Some(offset) = self.strange.get(&id)
        {
            return Some(*offset);
        }
        let frozen = || self.frozen.iter().rev().find_map(|table| table.get(id));
        self.current.get(id).or_else(|| (Some(id) <= self.highest_frozen).then(frozen).flatten())
    }

    pub(super) fn remove(&mut self, id: EventId) {
        self.current.ids.remove(&id);
        self.strange.remove(&id);
        self.frozen.iter_mut().filter(|table| table.may_hold(id)).for_each(|table| {
            table.ids.remove(&id);
        });
    }

    pub(super) fn len(&self) -> usize {
        self.current.ids.len() + self.strange.len() + self.frozen.iter().map(|table| table.ids.len()).sum::<usize>()
    }

    /// Lets go of what was appended before `offset`, table by table where that is all of it.
    pub(super) fn forget_before(&mut self, offset: Offset) {
        self.frozen.retain(|table| table.last_offset >= offset);
        self.highest_frozen = self.frozen.iter().filter_map(|table| table.range).map(|(_, high)| high).max();
        if let Some(oldest) = self.frozen.first_mut() {
            oldest.ids.retain(|_, at| *at >= offset);
        }
        if self.frozen.is_empty() {
            self.current.ids.retain(|_, at| *at >= offset);
        }
        self.strange.retain(|_, at| *at >= offset);
        if self.strange.capacity() > self.strange.len().saturating_mul(4).max(1024) {
            self.strange.shrink_to(self.strange.len() * 2);
        }
    }
}

impl Table {
    fn insert(&mut self, id: EventId, offset: Offset) {
        self.ids.insert(id, offset);
        self.last_offset = self.last_offset.max(offset);
        self.range = Some(self.range.map_or((id, id), |(low, high)| (low.min(id), high.max(id))));
    }

    fn may_hold(&self, id: EventId) -> bool {
        self.range.is_some_and(|(low, high)| low <= id && id <= high)
    }

    fn get(&self, id: EventId) -> Option<Offset> {
        self.may_hold(id).then(|| self.ids.get(&id).copied())?
    }
}

fn is_timely(id: EventId, now: EpochMs) -> bool {
    id.made_ms().is_some_and(|made| made.abs_diff(now) <= TIMELY_MS)
}

#[cfg(test)]
mod tests {
    use prom_types::IdMaker;

    use super::*;

    #[test]
    fn ids_are_found_in_whichever_table_they_are_and_forgotten_with_their_offsets() {
        let (maker, mut ids) = (IdMaker::new(), Generations::default());
        let many = 3 * TABLE_IDS as u64 + 7;
        let made: Vec<_> = (0..many).map(|offset| maker.make(1_000_000 + offset as i64 / 100)).collect();
        for (offset, id) in (0..).zip(&made) {
            assert_eq!(ids.get(*id), None);
            ids.insert(*id, offset, 1_000_000 + offset as i64 / 100);
        }
        assert!((0..).zip(&made).all(|(offset, id)| ids.get(*id) == Some(offset)));
        ids.forget_before(TABLE_IDS as u64 + 5);
        assert_eq!(ids.len() as u64, many - TABLE_IDS as u64 - 5);
        assert!((0..).zip(&made).all(|(offset, id)| ids.get(*id).is_some() == (offset >= TABLE_IDS as u64 + 5)));
        ids.forget_before(many);
        assert_eq!(ids.len(), 0);
    }

    #[test]
    fn an_id_that_comes_again_much_later_is_found_at_its_later_place() {
        let (maker, mut ids) = (IdMaker::new(), Generations::default());
        let (old, derived) = (maker.make(1_000_000), EventId::derived("x"));
        ids.insert(old, 1, 1_000_000);
        ids.insert(derived, 2, 1_000_000);
        ids.insert(old, 3, 2_000_000);
        assert_eq!((ids.get(old), ids.get(derived)), (Some(3), Some(2)));

        let early = maker.make(5_000_000);
        ids.insert(early, 4, 1_000_000);
        ids.insert(early, 5, 5_000_000);
        assert_eq!(ids.get(early), Some(5));
        ids.remove(early);
        assert_eq!(ids.get(early), None);
    }
}
