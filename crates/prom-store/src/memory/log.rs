//! One log: its records by offset, and its indexes.

use std::collections::VecDeque;

use hashbrown::HashMap;
use prom_types::{EpochMs, EventId, Offset};

use super::recent_ids::RecentIds;
use crate::{Bounds, Dedupe, LogInfo, LogName, LogOptions, NewestOfKey, Record, StoredAt};

#[derive(Default)]
pub(super) struct MemoryLog {
    options: LogOptions,
    start: Offset,
    next: Offset,
    /// Where it began anew the last time.
    begun: Offset,
    /// It takes nothing until it begins anew.
    ended: bool,
    last_stored_ts: EpochMs,
    bytes: u64,
    pub(super) records: VecDeque<Record>,
    recent: RecentIds,
    /// Ids that are unique as long as their event is retained.
    exact: HashMap<EventId, StoredAt>,
    /// Where the options ask for it: the latest event of each key, also if it was trimmed.
    latest: HashMap<Box<str>, NewestOfKey>,
    /// Compacted logs only: when a compaction first met a tombstone.
    pub(super) cleaned_at: HashMap<Offset, EpochMs>,
}

impl MemoryLog {
    pub fn options(&self) -> LogOptions {
        self.options
    }

    pub fn bounds(&self) -> Bounds {
        Bounds { start: self.start, next: self.next }
    }

    pub fn begun(&self) -> Offset {
        self.begun
    }

    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Forgets everything but where it goes on.
    pub fn end(&mut self) {
        let (next, last_stored_ts) = (self.next, self.last_stored_ts);
        *self = Self { start: next, next, begun: next, ended: true, last_stored_ts, ..Self::default() };
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn last_stored_ts(&self) -> EpochMs {
        self.last_stored_ts
    }

    pub fn info(&self, name: &LogName) -> LogInfo {
        LogInfo {
            log: name.clone(),
            options: self.options,
            bounds: self.bounds(),
            bytes: self.bytes,
            last_stored_ts: self.last_stored_ts,
        }
    }

    pub fn set_options(&mut self, options: LogOptions) {
        if options.compacted != self.options.compacted {
            self.cleaned_at.clear();
        }
        let turned = options.keeps_latest() != self.options.keeps_latest();
        self.options = options;
        self.ended = false;
        if turned {
            self.latest.clear();
        }
        if turned && options.keeps_latest() {
            let keyed = |record: &Record| record.key().map(|key| (key.into(), newest(record)));
            self.latest.extend(self.records.iter().filter_map(keyed));
        }
    }

    /// Where an event with this id is stored, as far as `dedupe` asks.
    pub fn place_of(&self, id: &EventId, dedupe: Dedupe, now: EpochMs) -> Option<StoredAt> {
        match dedupe {
            Dedupe::Fresh => None,
            Dedupe::Window => self.recent.place_within(id, now),
            Dedupe::Exact => self.recent.place_within(id, now).or_else(|| self.exact.get(id).copied()),
        }
    }

    /// Where the retained event with this exact id is.
    pub fn exact_place(&self, id: &EventId) -> Option<StoredAt> {
        self.exact.get(id).copied()
    }

    /// Adds a record that was placed at `next`.
    pub fn push(&mut self, record: Record, dedupe: Dedupe) {
        let place = StoredAt { offset: record.offset(), stored_ts: record.stored_ts() };
        self.recent.forget_before_window(place.stored_ts);
        self.recent.remember(record.id(), place);
        if dedupe == Dedupe::Exact {
            self.exact.insert(record.id(), place);
        }
        if let (true, Some(key)) = (self.options.keeps_latest(), record.key()) {
            self.latest.insert(key.into(), newest(&record));
        }
        self.next = place.offset + 1;
        self.last_stored_ts = place.stored_ts;
        self.bytes += record.len() as u64;
        self.records.push_back(record);
    }

    pub fn trim(&mut self, before: Offset, now: EpochMs) {
        self.start = before.clamp(self.start, self.next);
        while self.records.front().is_some_and(|record| record.offset() < self.start) {
            if let Some(record) = self.records.pop_front() {
                self.forget(&record);
            }
        }
        self.recent.forget_before_window(now.max(self.last_stored_ts));
    }

    /// Drops what is known about a removed record. Its id stays in the window.
    pub fn forget(&mut self, record: &Record) {
        let offset = record.offset();
        self.bytes -= record.len() as u64;
        self.cleaned_at.remove(&offset);
        if self.exact.get(&record.id()).is_some_and(|place| place.offset == offset) {
            self.exact.remove(&record.id());
        }
        // A key whose newest event retention took was written all the same.
        if record.is_tombstone()
            && let Some(key) = record.key()
            && self.latest_offset(key) == Some(offset)
        {
            self.latest.remove(key);
        }
    }

    /// The latest event of a key, unless it is a tombstone.
    pub fn latest(&self, key: &str) -> Option<Record> {
        let offset = self.latest_offset(key)?;
        let record = self.records.get(self.position(offset)).filter(|record| record.offset() == offset)?;
        (!record.is_tombstone()).then(|| record.clone())
    }

    pub fn newest(&self, key: &str) -> Option<NewestOfKey> {
        self.latest.get(key).copied()
    }

    pub fn latest_offset(&self, key: &str) -> Option<Offset> {
        self.newest(key).map(|newest| newest.offset)
    }

    /// The index in `records` of the first record at or after `offset`.
    pub fn position(&self, offset: Offset) -> usize {
        self.records.partition_point(|record| record.offset() < offset)
    }
}

fn newest(record: &Record) -> NewestOfKey {
    NewestOfKey { offset: record.offset(), is_tombstone: record.is_tombstone() }
}
