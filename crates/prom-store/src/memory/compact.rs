//! Compaction: drops events that a later event of the same key replaced, and tombstones after their grace.

use std::time::Duration;

use prom_types::EpochMs;

use super::log::MemoryLog;
use crate::{CompactReport, Record};

/// The newest events, which compaction leaves alone: the counterpart of the active segment on disk.
pub const ACTIVE_EVENTS: usize = 16;

enum Verdict {
    Keep,
    /// A tombstone that is the latest event of its key: readers must be able to see it for a while.
    KeepForGrace,
    Drop,
}

impl MemoryLog {
    pub fn compact(&mut self, tombstone_grace: Duration, now: EpochMs) -> CompactReport {
        let (events_before, bytes_before) = (self.records.len() as u64, self.bytes());
        let cleanable = self.records.len().saturating_sub(ACTIVE_EVENTS);
        let active = self.records.split_off(cleanable);
        for record in std::mem::take(&mut self.records) {
            match self.judge(&record, tombstone_grace, now) {
                Verdict::Keep => {}
                Verdict::KeepForGrace => {
                    self.cleaned_at.entry(record.offset()).or_insert(now);
                }
                Verdict::Drop => {
                    self.forget(&record);
                    continue;
                }
            }
            self.records.push_back(record);
        }
        self.records.extend(active);
        CompactReport {
            events_before,
            events_after: self.records.len() as u64,
            bytes_before,
            bytes_after: self.bytes(),
        }
    }

    fn judge(&self, record: &Record, tombstone_grace: Duration, now: EpochMs) -> Verdict {
        let offset = record.offset();
        let Some(key) = record.key() else {
            // From before compaction was turned on: nothing can replace it.
            return Verdict::Keep;
        };
        if self.latest_offset(key) != Some(offset) {
            return Verdict::Drop;
        }
        if !record.is_tombstone() {
            return Verdict::Keep;
        }
        let grace_ms = EpochMs::try_from(tombstone_grace.as_millis()).unwrap_or(EpochMs::MAX);
        match self.cleaned_at.get(&offset) {
            Some(cleaned_at) if now - cleaned_at > grace_ms => Verdict::Drop,
            _ => Verdict::KeepForGrace,
        }
    }
}
