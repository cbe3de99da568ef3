//! Compaction of a log: sealed segments are rewritten with only the latest event of each key.
//!
//! The active segment is never touched. A tombstone stays until its grace has passed, counted from
//! when its segment was first cleaned, so that slow readers learn of the deletion.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prom_store::{CompactReport, LogName, ReadLimit, Record, StoreError, StoredAt};
use prom_types::{EpochMs, EventId, Offset};

use crate::codec::{Put, Take};
use crate::documents::keys;
use crate::log::Log;
use crate::log::read::from_anywhere;
use crate::segment::gone::{Removal, is_recent};
use crate::segment::{GoneIds, RECORDS_AT, Segment};
use crate::shared::StoreShared;

pub(crate) fn compact(shared: &StoreShared, log: &Arc<Log>, grace: Duration) -> Result<CompactReport, StoreError> {
    know_latest(shared, log)?;
    // Before the lock: the worker behind the journal takes it too when it begins.
    shared.background.request_and_wait(|work| work.fill = true);
    let _one_at_a_time = shared.compacting.lock();
    let (segments, id, events_in_memory, bytes_in_memory) = {
        let state = log.state.lock();
        let events = state.bounds.next.saturating_sub(state.tail.filled_to());
        (state.segments.clone(), state.id, events, state.tail.unfilled_bytes())
    };
    let (sealed, active): (Vec<_>, Vec<_>) = segments.into_iter().partition(|segment| segment.is_sealed());
    let untouched = |of: fn(&Arc<Segment>) -> u64| active.iter().map(of).sum::<u64>();
    let events_untouched = events_in_memory + untouched(|segment| segment.meta.lock().events);
    let bytes_untouched = bytes_in_memory + untouched(|segment| segment.event_bytes());
    let mut report = CompactReport {
        events_before: events_untouched,
        events_after: events_untouched,
        bytes_before: bytes_untouched,
        bytes_after: bytes_untouched,
    };
    let Some(id) = id else {
        return Ok(report);
    };
    for segment in sealed {
        let before = *segment.meta.lock();
        let after = clean(shared, log, id, &segment, grace)?.unwrap_or(before);
        report.events_before += before.events;
        report.bytes_before += before.length - RECORDS_AT;
        report.events_after += after.events;
        report.bytes_after += after.length - RECORDS_AT;
    }
    Ok(report)
}

/// What the segment is replaced by; `None` if it stays as it is.
fn clean(
    shared: &StoreShared,
    log: &Arc<Log>,
    id: u32,
    segment: &Arc<Segment>,
    grace: Duration,
) -> Result<Option<crate::segment::SegmentMeta>, StoreError> {
    let now = shared.options.clock.now_ms();
    let grace = EpochMs::try_from(grace.as_millis()).unwrap_or(EpochMs::MAX);
    let cleaned_at = segment.meta.lock().cleaned_at;
    let tombstones_expire = cleaned_at.is_some_and(|cleaned| now >= cleaned.saturating_add(grace));
    let mut dropped: HashMap<Offset, Dropped> = HashMap::new();
    segment.for_each(&shared.files, |record| {
        let key = record.key().unwrap_or_default();
        let latest = latest_offset(shared, id, key)?;
        let expired = latest == Some(record.offset()) && record.is_tombstone() && tombstones_expire;
        if latest.is_some_and(|latest| latest > record.offset()) || expired {
            dropped.insert(record.offset(), Dropped::new(&record, expired));
        }
        Ok(())
    })?;
    if dropped.is_empty() {
        let mut meta = segment.meta.lock();
        meta.cleaned_at.get_or_insert(now);
        drop(meta);
        log.state.lock().dirty = true;
        return Ok(None);
    }
    let dir = shared.segments_dir(id);
    let recent = dropped.iter().filter(|(_, gone)| is_recent(gone.stored_ts, now));
    let recent: Vec<_> =
        recent.map(|(offset, gone)| (gone.id, StoredAt { offset: *offset, stored_ts: gone.stored_ts })).collect();
    let has_recent = !recent.is_empty();
    let place = (segment.base, segment.generation);
    let remember = || GoneIds::write(&*shared.options.disk, &dir, place, Removal::Compacted, recent);
    let gone = has_recent.then(remember).transpose()?;
    let keep = |record: &Record| !dropped.contains_key(&record.offset());
    let copy = segment.rewrite(&shared.files, &shared.options.sizes, &dir, now, keep)?;
    let meta = *copy.meta.lock();
    Ok(swap(shared, log, id, segment, (copy, gone), &dropped)?.then_some(meta))
}

struct Dropped {
    id: EventId,
    stored_ts: EpochMs,
    is_exact: bool,
    /// The tombstone was its key's latest event: the key goes too.
    forgotten_key: Option<String>,
}

impl Dropped {
    fn new(record: &Record, expired: bool) -> Self {
        Self {
            id: record.id(),
            stored_ts: record.stored_ts(),
            is_exact: record.is_exact(),
            forgotten_key: record.key().filter(|_| expired).map(str::to_owned),
        }
    }
}

/// Puts the copy in the segment's place; `false` if the segment has gone meanwhile.
fn swap(
    shared: &StoreShared,
    log: &Arc<Log>,
    id: u32,
    segment: &Arc<Segment>,
    (copy, gone): (Segment, Option<GoneIds>),
    dropped: &HashMap<Offset, Dropped>,
) -> Result<bool, StoreError> {
    let mut applied = shared.applied.lock();
    {
        let mut state = log.state.lock();
        let Some(at) = state.segments.iter().position(|current| Arc::ptr_eq(current, segment)) else {
            applied.dropped.push(Arc::new(copy));
            return Ok(false);
        };
        let empty = copy.meta.lock().events == 0;
        if empty {
            state.segments.remove(at);
            applied.dropped.push(Arc::new(copy));
        } else {
            state.segments[at] = Arc::new(copy);
        }
        state.gone.extend(gone.map(Arc::new));
        state.dirty = true;
    }
    log.note_removal();
    segment.mark_replaced();
    applied.dropped.push(segment.clone());
    let mut known = Vec::new();
    for (offset, gone) in dropped {
        let LogName { topic, partition } = &log.name;
        let exact = gone.is_exact.then(|| (keys::exact(topic, gone.id), stored_place(*partition, *offset)));
        let key = gone.forgotten_key.as_ref().map(|key| (keys::latest(id, key), stored_offset(*offset)));
        known.extend(exact.into_iter().chain(key));
    }
    shared.state.forget_unchanged(&known)?;
    Ok(true)
}

/// Makes sure that every key's latest offset is known, also of events from before the log was compacted.
pub(crate) fn know_latest(shared: &StoreShared, log: &Arc<Log>) -> Result<(), StoreError> {
    let (id, known, until) = {
        let state = log.state.lock();
        if !state.options.compacted {
            return Err(StoreError::NotCompacted { log: log.name.clone() });
        }
        (state.id, state.latest_known, state.bounds.next)
    };
    let (Some(id), false) = (id, known) else {
        return Ok(());
    };
    let mut from = 0;
    while from < until {
        let batch = from_anywhere(log, &shared.files, shared.interval(), from, ReadLimit::default())?;
        let _writer_waits = shared.applied.lock();
        for record in &batch.records {
            let Some(key) = record.key() else {
                continue;
            };
            if latest_offset(shared, id, key)?.is_none_or(|latest| latest < record.offset()) {
                shared.state.put(keys::latest(id, key), Some(stored_offset(record.offset())));
            }
        }
        if batch.next <= from {
            break;
        }
        from = batch.next;
    }
    let mut state = log.state.lock();
    state.latest_known = true;
    state.dirty = true;
    Ok(())
}

pub(crate) fn latest_offset(shared: &StoreShared, log: u32, key: &str) -> Result<Option<Offset>, StoreError> {
    let found = shared.state.get(&keys::latest(log, key))?;
    Ok(found.and_then(|bytes| Take::new(&bytes).u64().ok()))
}

/// A place of an exact id as the documents have it.
pub(crate) fn stored_place(partition: u32, offset: Offset) -> Bytes {
    let mut place = Vec::with_capacity(12);
    place.put_u64(offset);
    place.put_u32(partition);
    place.into()
}

/// An offset as the documents have it.
pub(crate) fn stored_offset(offset: Offset) -> Bytes {
    Bytes::copy_from_slice(&offset.to_le_bytes())
}
