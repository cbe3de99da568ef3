//! Compaction: drops events that a later event of the same key replaced, and tombstones after their grace.

use prom_types::EpochMs;

use super::log::MemoryLog;
use crate::{CompactPlan, CompactReport, KeysBefore, Record};

/// The newest events, which compaction leaves alone: the counterpart of the active segment on disk.
pub const ACTIVE_EVENTS: usize = 16;

enum Verdict {
    Keep,
    /// A tombstone that is the latest event of its key: readers must be able to see it for a while.
    KeepForGrace,
    Drop,
}

impl MemoryLog {
    /// Whether a compaction would remove anything.
    pub fn has_compactable(&self, plan: CompactPlan<'_>, now: EpochMs) -> bool {
        let keys = self.keys_before(plan);
        let cleanable = self.records.len().saturating_sub(ACTIVE_EVENTS);
        self.records.iter().take(cleanable).any(|record| matches!(self.judge(record, &keys, plan, now), Verdict::Drop))
    }

    fn keys_before(&self, plan: CompactPlan<'_>) -> KeysBefore {
        let mut keys = KeysBefore::default();
        for record in self.records.iter().take_while(|record| record.offset() < plan.before) {
            if let Some(key) = record.key() {
                keys.note(key, record.offset());
            }
        }
        keys
    }

    pub fn compact(&mut self, plan: CompactPlan<'_>, now: EpochMs) -> CompactReport {
        let (events_before, bytes_before) = (self.records.len() as u64, self.bytes());
        let keys = self.keys_before(plan);
        let cleanable = self.records.len().saturating_sub(ACTIVE_EVENTS);
        let active = self.records.split_off(cleanable);
        for record in std::mem::take(&mut self.records) {
            match self.judge(&record, &keys, plan, now) {
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

    fn judge(&self, record: &Record, keys: &KeysBefore, plan: CompactPlan<'_>, now: EpochMs) -> Verdict {
        let offset = record.offset();
        let Some(key) = record.key() else {
            // From before compaction was turned on: nothing can replace it.
            return Verdict::Keep;
        };
        if offset < plan.before && keys.has_replaced(key, offset) == Some(true) {
            return Verdict::Drop;
        }
        if self.latest_offset(key) != Some(offset) || offset >= plan.before || !record.is_tombstone() {
            return Verdict::Keep;
        }
        let grace_ms = EpochMs::try_from(plan.tombstone_grace.as_millis()).unwrap_or(EpochMs::MAX);
        match self.cleaned_at.get(&offset) {
            Some(cleaned_at) if now - cleaned_at > grace_ms => Verdict::Drop,
            _ => Verdict::KeepForGrace,
        }
    }
}
