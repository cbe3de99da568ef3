//! Scanned events kept for handing out, so that the usual event is read once. A cache and no more:
//! what is not here is read again.

use std::collections::VecDeque;
use std::sync::Arc;

use prom_store::Record;
use prom_types::Offset;

use crate::held_bytes::{DeliveryMemory, HeldBytes};
use crate::limits::{READ_BYTES, RECORD_CACHE_BYTES};

/// Slots, taken ones included, before the oldest give way: one that is blocked for long must not
/// keep everything behind it.
const SLOTS: usize = 16 * 1024;

/// Records by offset.
pub(super) struct Records {
    slots: VecDeque<Slot>,
    bytes: usize,
    held: HeldBytes,
}

struct Slot {
    offset: Offset,
    record: Option<Record>,
}

impl Records {
    pub fn new(memory: &Arc<DeliveryMemory>) -> Self {
        Self { slots: VecDeque::new(), bytes: 0, held: HeldBytes::new(memory) }
    }

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
        self.bytes >= self.held.limit(RECORD_CACHE_BYTES)
    }

    /// How much one read may bring. A record may keep the whole block in memory that it was read with.
    pub fn read_bytes(&self) -> usize {
        self.held.limit(READ_BYTES)
    }

    /// After a batch was put in or taken out.
    pub fn tell_bytes(&mut self) {
        self.held.tell(self.bytes);
    }

    pub fn clear(&mut self) {
        self.slots.clear();
        self.bytes = 0;
        self.tell_bytes();
    }
}
