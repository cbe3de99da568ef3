//! Scanned events kept for handing out, so that the usual event is read once. A cache and no more:
//! what is not here is read again.

use std::collections::VecDeque;

use prom_store::Record;
use prom_types::Offset;

use crate::limits::RECORD_CACHE_BYTES;

/// Slots, taken ones included, before the oldest give way: one that is blocked for long must not
/// keep everything behind it.
const SLOTS: usize = 16 * 1024;

/// Records by offset.
#[derive(Default)]
pub(super) struct Records {
    slots: VecDeque<Slot>,
    bytes: usize,
}

struct Slot {
    offset: Offset,
    record: Option<Record>,
}

impl Records {
    /// Offsets must grow; one that does not starts the cache over.
    pub fn push(&mut self, record: Record) {
        let offset = record.offset();
        if self.slots.back().is_some_and(|last| last.offset >= offset) {
            self.clear();
        }
        if self.slots.len() >= SLOTS
            && let Some(Slot { record: Some(oldest), .. }) = self.slots.pop_front()
        {
            self.bytes -= oldest.len();
        }
        self.bytes += record.len();
        self.slots.push_back(Slot { offset, record: Some(record) });
    }

    pub fn take(&mut self, offset: Offset) -> Option<Record> {
        let at = match self.slots.front() {
            Some(first) if first.offset == offset => 0,
            _ => self.slots.binary_search_by_key(&offset, |slot| slot.offset).ok()?,
        };
        let record = self.slots.get_mut(at)?.record.take()?;
        self.bytes -= record.len();
        while self.slots.pop_front_if(|slot| slot.record.is_none()).is_some() {}
        Some(record)
    }

    pub fn is_full(&self) -> bool {
        self.bytes >= RECORD_CACHE_BYTES
    }

    pub fn clear(&mut self) {
        self.slots.clear();
        self.bytes = 0;
    }
}
