//! Which ids were appended lately: what makes publishing twice store once.
//!
//! The table covers everything behind the last sealed segment; sealed segments have their ids on
//! disk. Version 7 ids grow with time, so a fresh id lies beyond the range of every sealed segment
//! and costs one look into the table; only a repeated or a strange one reads the disk.

use std::ops::RangeInclusive;
use std::sync::Arc;

use prom_store::{ReadLimit, StoreError, StoredAt};
use prom_types::{EpochMs, EventId, Offset, limits};

use super::Log;
use super::generations::Generations;
use super::read::{Reach, is_current, one_within, unless_missing, within};
use crate::segment::{GoneIds, OpenFiles, Segment};

/// The ids of one log's unsealed part. The journal's writer owns it.
#[derive(Default)]
pub(crate) struct IdTable {
    ids: Generations,
    /// False after a start, until the first look-up reads the unsealed part.
    loaded: bool,
    /// Offsets before this are covered by `sealed`.
    sealed_to: Offset,
    /// Sealed segments that reach into the dedupe window, oldest first.
    sealed: Vec<SealedIds>,
    /// Ids of removed events.
    gone: Vec<Arc<GoneIds>>,
    /// What [`Log::removals`] said when segments and removed ids were noted.
    removals: u64,
}

/// Which ids a sealed segment may hold.
struct SealedIds {
    segment: Arc<Segment>,
    range: RangeInclusive<EventId>,
}

impl IdTable {
    /// For a log that has no events yet.
    pub(crate) fn complete() -> Self {
        Self { loaded: true, ..Self::default() }
    }

    pub(crate) fn insert(&mut self, id: EventId, offset: Offset, now: EpochMs) {
        self.ids.insert(id, offset, now);
    }

    /// What the table itself knows.
    pub(crate) fn get(&self, id: EventId) -> Option<Offset> {
        self.ids.get(id)
    }

    pub(crate) fn remove(&mut self, id: EventId) {
        self.ids.remove(id);
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Lets go of ids that a sealed segment now has on disk.
    pub(crate) fn prune(&mut self, log: &Log, files: &OpenFiles, now: EpochMs) -> Result<(), StoreError> {
        let sealed_to = sealed_to(log);
        if sealed_to <= self.sealed_to {
            return Ok(());
        }
        if self.loaded {
            self.cover(log, files, now)?;
        }
        self.sealed_to = sealed_to;
        self.ids.forget_before(sealed_to);
        Ok(())
    }

    /// Where an event with this id was appended within the dedupe window, as far as durable frames go.
    pub(crate) fn find(
        &mut self,
        log: &Log,
        files: &OpenFiles,
        interval: u64,
        id: EventId,
        now: EpochMs,
    ) -> Result<Option<Offset>, StoreError> {
        if !self.loaded {
            self.load(log, files, interval, now)?;
        }
        if self.removals != log.removals() {
            self.cover(log, files, now)?;
        }
        if let Some(offset) = self.ids.get(id) {
            return Ok(Some(offset));
        }
        match self.find_sealed(files, id) {
            Ok(found) => Ok(found),
            // Retention or compaction has replaced a segment since they were noted: note them again.
            Err(_) if self.sealed.iter().any(|sealed| !is_current(log, &sealed.segment)) => {
                self.cover(log, files, now)?;
                self.find_sealed(files, id)
            }
            Err(error) => Err(error),
        }
    }

    /// Where an event with this id was before retention or compaction removed it.
    pub(crate) fn find_gone(&self, files: &OpenFiles, id: EventId) -> Result<Option<StoredAt>, StoreError> {
        let mut newest: Option<StoredAt> = None;
        for gone in &self.gone {
            let found = gone.find(files, id)?;
            newest = newest.into_iter().chain(found).max_by_key(|place| place.offset);
        }
        Ok(newest)
    }

    fn find_sealed(&self, files: &OpenFiles, id: EventId) -> Result<Option<Offset>, StoreError> {
        for sealed in self.sealed.iter().rev().filter(|sealed| sealed.range.contains(&id)) {
            if let Some(offset) = sealed.segment.find_id(files, id)? {
                return Ok(Some(offset));
            }
        }
        Ok(None)
    }

    fn load(&mut self, log: &Log, files: &OpenFiles, interval: u64, now: EpochMs) -> Result<(), StoreError> {
        self.sealed_to = sealed_to(log);
        self.cover(log, files, now)?;
        let mut from = self.sealed_to;
        loop {
            let batch = within(log, files, interval, from, ReadLimit::default(), Reach::Stored)?;
            for record in &batch.records {
                self.ids.insert(record.id(), record.offset(), record.stored_ts());
            }
            if batch.next >= batch.bounds.next || batch.next <= from {
                break;
            }
            from = batch.next;
        }
        self.loaded = true;
        Ok(())
    }

    /// Notes the sealed segments of the window; ids before `sealed_to` are theirs from now on.
    fn cover(&mut self, log: &Log, files: &OpenFiles, now: EpochMs) -> Result<(), StoreError> {
        let oldest = now.saturating_sub(limits::DEDUPE_WINDOW_MS);
        // Before the look: a removal after it is noticed by the next look-up.
        let removals = log.removals();
        let (sealed, gone): (Vec<_>, _) = {
            let state = log.state.lock();
            (state.segments.iter().filter(|segment| segment.is_sealed()).cloned().collect(), state.gone.clone())
        };
        self.gone = gone;
        self.sealed.clear();
        for segment in sealed.into_iter().filter(|segment| segment.meta.lock().last_ts >= oldest) {
            if let Some(range) = unless_missing(log, &segment, segment.id_range(files))? {
                self.sealed.push(SealedIds { segment, range });
            }
        }
        self.removals = removals;
        Ok(())
    }
}

/// When the event at `offset` was stored, if it is still there and really has this id.
pub(crate) fn stored_ts_of(
    log: &Log,
    files: &OpenFiles,
    interval: u64,
    offset: Offset,
    id: EventId,
    reach: Reach,
) -> Result<Option<EpochMs>, StoreError> {
    let record = one_within(log, files, interval, offset, reach)?;
    Ok(record.filter(|record| record.id() == id).map(|record| record.stored_ts()))
}

fn sealed_to(log: &Log) -> Offset {
    let state = log.state.lock();
    state.segments.iter().rev().find(|segment| segment.is_sealed()).map_or(0, |segment| segment.end())
}
