//! Finding an offset by time, by id, or by how many bytes should remain. May block on the disk.

use std::sync::Arc;

use prom_store::{Find, ReadLimit, StoreError};
use prom_types::{EpochMs, EventId, Offset};

use super::Log;
use super::read::{from_anywhere, is_current, unless_missing};
use crate::segment::read::SegmentScan;
use crate::segment::{OpenFiles, Segment};

/// How often a look is repeated because retention or compaction replaced a segment meanwhile.
const LOOKS: usize = 4;

pub(crate) fn find(log: &Log, files: &OpenFiles, interval: u64, what: Find) -> Result<Option<Offset>, StoreError> {
    let look = || match what {
        Find::StoredAt(time) => by_time(log, files, interval, time),
        Find::Id(id) => by_id(log, files, interval, id),
        Find::RemainingBytes(bytes) => by_remaining_bytes(log, files, interval, bytes),
    };
    for _ in 1..LOOKS {
        let (segments, _) = snapshot(log);
        match look() {
            Err(StoreError::Io { .. }) if segments.iter().any(|segment| !is_current(log, segment)) => {}
            result => return result,
        }
    }
    look()
}

fn by_time(log: &Log, files: &OpenFiles, interval: u64, time: EpochMs) -> Result<Option<Offset>, StoreError> {
    let (segments, start) = snapshot(log);
    let end = segments.last().map_or(start, |segment| segment.end()).max(start);
    // A segment's last time is an upper bound: what had it may be damaged. So the ones behind are read too.
    for segment in segments.iter().filter(|segment| segment.may_hold_since(time)) {
        let found = unless_missing(log, segment, first_since(segment, files, interval, start, time))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    scan_for(log, files, interval, end, |record| record.stored_ts() >= time)
}

/// The first event of the segment that was stored at or after `time` and lies at or behind `start`.
fn first_since(
    segment: &Segment,
    files: &OpenFiles,
    interval: u64,
    start: Offset,
    time: EpochMs,
) -> Result<Option<Offset>, StoreError> {
    let position = segment.index(files, interval)?.position_of_time(time);
    let mut scan = SegmentScan::new(segment, files, position)?;
    while let Some((_, item)) = scan.next_record()? {
        let hit = |record: &prom_store::Record| record.stored_ts() >= time && record.offset() >= start;
        if let Some(record) = item.ok().filter(hit) {
            return Ok(Some(record.offset()));
        }
    }
    Ok(None)
}

fn by_id(log: &Log, files: &OpenFiles, interval: u64, id: EventId) -> Result<Option<Offset>, StoreError> {
    let mut unsealed_ids = log.unsealed_ids.lock();
    // Under that lock, so that what one look finds sealed is not unsealed for the next.
    let (segments, start) = snapshot(log);
    let (sealed, active): (Vec<_>, Vec<_>) = segments.iter().partition(|segment| segment.is_sealed());
    let unsealed_from = match (active.first(), sealed.last()) {
        // Not the log's start: that moves within the segment, and the table would be rebuilt each time.
        (Some(active), _) => active.base,
        (None, Some(last)) => last.end().max(start),
        (None, None) => start,
    };
    let newest = unsealed_ids.find(log, files, interval, unsealed_from, id)?;
    drop(unsealed_ids);
    if newest.is_some() {
        return Ok(newest);
    }
    for segment in sealed.into_iter().rev() {
        let found = unless_missing(log, segment, segment.find_id(files, id))?;
        if let Some(offset) = found.filter(|offset| *offset >= start) {
            return Ok(Some(offset));
        }
    }
    Ok(None)
}

/// The first offset from which on at most `bytes` remain.
fn by_remaining_bytes(log: &Log, files: &OpenFiles, interval: u64, bytes: u64) -> Result<Option<Offset>, StoreError> {
    let (unfilled, segments, bounds) = {
        let state = log.state.lock();
        // The filler may have written a chunk and not said so yet; it must not count twice.
        let filled_to = state.segments.last().map_or(0, |segment| segment.end());
        let mut unfilled = state.tail.unfilled();
        unfilled.retain(|chunk| chunk.base() >= filled_to);
        (unfilled, state.segments.clone(), state.bounds)
    };
    let within = |offset: Offset| Ok(Some(offset.max(bounds.start)).filter(|offset| *offset < bounds.next));
    let mut remaining = 0;
    for chunk in unfilled.iter().rev() {
        if remaining + chunk.len_bytes() > bytes {
            return within(chunk.first_within(bytes - remaining));
        }
        remaining += chunk.len_bytes();
    }
    for segment in segments.iter().rev() {
        if remaining + segment.event_bytes() > bytes {
            let first = first_within(segment, files, interval, bytes - remaining).map(Some);
            return within(unless_missing(log, segment, first)?.unwrap_or(segment.end()));
        }
        remaining += segment.event_bytes();
    }
    within(bounds.start)
}

/// The index leads near; the last few records are read.
fn first_within(segment: &Segment, files: &OpenFiles, interval: u64, bytes: u64) -> Result<Offset, StoreError> {
    let length = segment.meta.lock().length;
    let cut = length.saturating_sub(bytes);
    let mut scan = SegmentScan::new(segment, files, segment.index(files, interval)?.position_before(cut))?;
    while let Some((position, item)) = scan.next_record()? {
        if let Some(record) = item.ok().filter(|_| position >= cut) {
            return Ok(record.offset());
        }
    }
    Ok(segment.end())
}

fn snapshot(log: &Log) -> (Vec<Arc<Segment>>, Offset) {
    let state = log.state.lock();
    (state.segments.clone(), state.bounds.start)
}

fn scan_for(
    log: &Log,
    files: &OpenFiles,
    interval: u64,
    from: Offset,
    wanted: impl Fn(&prom_store::Record) -> bool,
) -> Result<Option<Offset>, StoreError> {
    let mut from = from;
    loop {
        let batch = from_anywhere(log, files, interval, from, ReadLimit::default())?;
        if let Some(record) = batch.records.iter().find(|record| wanted(record)) {
            return Ok(Some(record.offset()));
        }
        if batch.next >= batch.bounds.next || batch.next <= from && batch.records.is_empty() {
            return Ok(None);
        }
        from = batch.next;
    }
}
