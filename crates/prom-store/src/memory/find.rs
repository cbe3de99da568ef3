//! Finding an offset by time, by id, or by how many bytes remain after it.

use prom_types::{EpochMs, EventId, Offset};

use super::log::MemoryLog;
use crate::{Find, Record};

impl MemoryLog {
    pub fn find(&self, what: Find) -> Option<Offset> {
        match what {
            Find::StoredAt(stored_ts) => self.first_stored_at(stored_ts),
            Find::Id(id) => self.newest_with_id(&id),
            Find::RemainingBytes(bytes) => self.first_with_remaining(bytes),
        }
    }

    fn first_stored_at(&self, stored_ts: EpochMs) -> Option<Offset> {
        let position = self.records.partition_point(|record| record.stored_ts() < stored_ts);
        self.records.get(position).map(Record::offset)
    }

    /// An id may occur twice if it was repeated after the dedupe window.
    fn newest_with_id(&self, id: &EventId) -> Option<Offset> {
        let newest_first = self.records.iter().rev();
        newest_first.filter(|record| record.id() == *id).map(Record::offset).next()
    }

    fn first_with_remaining(&self, most_bytes: u64) -> Option<Offset> {
        let mut remaining = self.bytes();
        for record in &self.records {
            if remaining <= most_bytes {
                return Some(record.offset());
            }
            remaining -= record.len() as u64;
        }
        None
    }
}
