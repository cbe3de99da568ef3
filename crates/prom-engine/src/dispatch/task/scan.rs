//! Reading: ahead, for what is new, and back, for what is handed out again.

use prom_store::{Bounds, ReadBatch, ReadLimit, Record, StoreError};
use prom_types::{EventId, Offset, key_hash, partition_of};

use super::filter::Filtering;
use super::{DispatchTask, Pace};
use crate::dispatch::{Order, ScanRequest};
use crate::gap::gap;
use crate::group::Layout;
use crate::limits::READ_BYTES;
use crate::{Gap, GapReason};

/// What became of an event that was to be read again.
pub(super) enum ReadBack {
    Record(Record),
    /// Retention or compaction took it, or the storage lost it.
    Gone,
    /// The store could not say.
    Unread,
}

/// Offsets this close together are read in one go.
const NEAR: u64 = 256;

impl DispatchTask {
    pub(super) fn follow_head(&mut self) {
        let bounds = self.head.bounds();
        self.moved(bounds);
    }

    /// Passes the bounds on, and tells subscribers what retention took from them.
    pub(super) fn moved(&mut self, bounds: Bounds) {
        let floor = self.machine.floor();
        if bounds.start > floor {
            self.meter.lost.add(self.machine.unsettled_before(bounds.start));
            self.tell_gap(gap(&self.cursor.log, floor..bounds.start, self.why_gone()));
        } else if bounds == self.machine.bounds() {
            return;
        }
        self.machine.bounds_moved(bounds);
    }

    fn tell_gap(&mut self, gap: Gap) {
        tracing::error!(
            cursor = %self.cursor,
            from = gap.from,
            to = gap.to,
            reason = %gap.reason,
            "events were lost to this group"
        );
        if self.seats.is_empty() {
            // At the start of a partition whose owner is not known yet, for example.
            self.untold_gaps.push(gap);
            return;
        }
        self.seats.iter().for_each(|seat| seat.outlet.tell_gap(gap.clone()));
    }

    /// Looks at what comes next in the log, if the machine has use for it.
    pub(super) async fn scan(&mut self) -> Pace {
        if self.reads.must_wait() || self.filtering.as_ref().is_some_and(Filtering::is_busy) {
            return Pace::Idle;
        }
        let Some(ScanRequest { from, events }) = self.machine.wants_scan() else {
            return Pace::Idle;
        };
        if self.records.is_full() {
            if self.machine.status().ready > 0 && !self.machine.is_starving() {
                return Pace::Idle;
            }
            // All of it is blocked, gone, or of lanes that do not take: it is read again when its turn comes.
            self.records.clear();
        }
        let limit = ReadLimit { events, bytes: self.records.read_bytes() };
        let batch = match self.read(from, limit).await {
            Ok(batch) if batch.next > from => batch,
            Ok(_) => {
                self.reads.failed(self.now());
                return Pace::Idle;
            }
            Err(error) => {
                tracing::error!(cursor = %self.cursor, from, %error, "events cannot be read; trying again");
                self.reads.failed(self.now());
                return Pace::Idle;
            }
        };
        self.reads.succeeded();
        self.moved(batch.bounds);
        if let Some(damage) = &batch.damage {
            let lost = damage.lost.clone().unwrap_or(from..batch.next);
            self.meter.lost.add(lost.end.saturating_sub(lost.start));
            self.tell_gap(gap(&self.cursor.log, lost, GapReason::Damage(damage.to_string())));
        }
        if self.filtering.is_some() {
            self.start_judging(from, batch.next, batch.records);
            return Pace::Idle;
        }
        let mut seen = Vec::with_capacity(batch.records.len());
        for record in batch.records {
            seen.push(self.scanned_event(&record, true));
            self.records.push(record);
        }
        self.records.tell_bytes();
        self.machine.scanned(from, batch.next, seen);
        Pace::Busy
    }

    /// One read of the store, and how long it took.
    async fn read(&mut self, from: Offset, limit: ReadLimit) -> Result<ReadBatch, StoreError> {
        let began = self.now();
        let result = self.core.store.read(&self.cursor.log, from, limit).await;
        self.meter.polls.record(self.now().saturating_sub(began));
        result
    }

    /// Only order by key needs it. Equal hashes of different keys only hold each other back.
    pub(super) fn ordering_hash(&self, record: &Record) -> Option<u64> {
        match self.order {
            Order::None => None,
            Order::Key => record.key().map(key_hash),
        }
    }

    /// By the hash of the key, else of the id, as partitions of a topic are chosen.
    pub(super) fn lane_of(&self, record: &Record) -> u32 {
        self.lane_by(record.key(), record.id())
    }

    /// The same of an event that is not at hand.
    pub(super) fn lane_by(&self, key: Option<&str>, id: EventId) -> u32 {
        let Some(Layout::Virtual(lanes)) = self.partitioned.as_ref().map(|partitioned| partitioned.layout()) else {
            return 0;
        };
        match key {
            Some(key) => partition_of(key, lanes),
            None => partition_of(&id.to_string(), lanes),
        }
    }

    /// Reads events that are not in memory any more; answers in the order of `offsets`, which grow.
    pub(super) async fn read_back(&mut self, offsets: &[Offset]) -> Vec<ReadBack> {
        let mut found = Vec::with_capacity(offsets.len());
        while let Some(&from) = offsets.get(found.len()) {
            let rest = &offsets[found.len()..];
            let last = rest.iter().take_while(|&&offset| offset < from + NEAR).last().copied().unwrap_or(from);
            let limit = ReadLimit { events: usize::try_from(last - from + 1).unwrap_or(1), bytes: READ_BYTES };
            match self.read(from, limit).await {
                Ok(batch) if batch.next > from => {
                    self.reads.succeeded();
                    if let Some(damage) = &batch.damage {
                        let lost = damage.lost.clone().unwrap_or(from..from + 1);
                        self.tell_gap(gap(&self.cursor.log, lost, GapReason::Damage(damage.to_string())));
                    }
                    let mut records = batch.records.into_iter().peekable();
                    for &offset in rest.iter().take_while(|&&offset| offset < batch.next) {
                        while records.next_if(|record| record.offset() < offset).is_some() {}
                        found.push(match records.next_if(|record| record.offset() == offset) {
                            Some(record) => ReadBack::Record(record),
                            None => ReadBack::Gone,
                        });
                    }
                }
                other => {
                    if let Err(error) = other {
                        tracing::error!(cursor = %self.cursor, from, %error, "events cannot be read; trying again");
                    }
                    let now = self.now();
                    self.reads.failed(now);
                    found.resize_with(offsets.len(), || ReadBack::Unread);
                }
            }
        }
        found
    }
}
