//! Reading a log from an offset on.

use prom_types::Offset;

use super::log::MemoryLog;
use crate::{ReadBatch, ReadLimit};

impl MemoryLog {
    pub fn read(&self, from: Offset, limit: ReadLimit) -> ReadBatch {
        let bounds = self.bounds();
        let mut batch = ReadBatch { next: bounds.next, bounds, ..ReadBatch::default() };
        let mut bytes = 0;
        for record in self.records.range(self.position(from)..) {
            bytes += record.len();
            let full = batch.records.len() >= limit.events || bytes > limit.bytes;
            if full && !batch.records.is_empty() {
                batch.next = record.offset();
                break;
            }
            batch.records.push(record.clone());
        }
        batch
    }
}
