//! Finding an offset by time, by id, or by how many bytes should remain. May block on the disk.

use std::sync::Arc;

use prom_store::{Find, ReadLimit, StoreError};
use prom_types::{EpochMs, EventId, Offset};

use super::Log;
use super::read::from_anywhere;
use crate::segment::read::Scan;
use crate::segment::{OpenFiles, Segment};

pub(crate) fn find(log: &Log, files: &OpenFiles, interval: u64, what: Find) -> Result<Option<Offset>, StoreError> {
    match what {
        Find::StoredAt(time) => by_time(log, files, interval, time),
        Find::Id(id) => by_id(log, files, interval, id),
        Find::RemainingBytes(bytes) => Ok(by_remaining_bytes(log, bytes)),
    }
}

fn by_time(log: &Log, files: &OpenFiles, interval: u64, time: EpochMs) -> Result<Option<Offset>, StoreError> {
    let (segments, start) = snapshot(log);
    let holder = segments.partition_point(|segment| segment.meta.lock().last_ts < time);
    if let Some(segment) = segments.get(holder) {
        let position = segment.index(files, interval)?.position_of_time(time);
        let mut scan = Scan::new(segment, files, position)?;
        while let Some((_, item)) = scan.next_record()? {
            let hit = |record: &prom_store::Record| record.stored_ts() >= time && record.offset() >= start;
            if let Some(record) = item.ok().filter(hit) {
                return Ok(Some(record.offset()));
            }
        }
    }
    let from = segments.last().map_or(start, |segment| segment.end()).max(start);
    scan_for(log, files, interval, from, |record| record.stored_ts() >= time)
}

fn by_id(log: &Log, files: &OpenFiles, interval: u64, id: EventId) -> Result<Option<Offset>, StoreError> {
    let (segments, start) = snapshot(log);
    let mut unsealed_from = start;
    for segment in segments.iter().filter(|segment| segment.is_sealed()) {
        unsealed_from = unsealed_from.max(segment.end());
    }
    let newest = scan_for(log, files, interval, unsealed_from, |record| record.id() == id)?;
    if newest.is_some() {
        return Ok(newest);
    }
    for segment in segments.iter().rev().filter(|segment| segment.is_sealed()) {
        if let Some(offset) = segment.find_id(files, id)?.filter(|offset| *offset >= start) {
            return Ok(Some(offset));
        }
    }
    Ok(None)
}

/// By whole segments and chunks: the first boundary behind which at most `bytes` remain.
fn by_remaining_bytes(log: &Log, bytes: u64) -> Option<Offset> {
    let state = log.state.lock();
    let mut remaining = state.tail.unfilled_bytes();
    if remaining > bytes {
        return Some(state.tail.filled_to().max(state.bounds.start)).filter(|offset| *offset < state.bounds.next);
    }
    for segment in state.segments.iter().rev() {
        remaining += segment.event_bytes();
        if remaining > bytes {
            return Some(segment.end().max(state.bounds.start)).filter(|offset| *offset < state.bounds.next);
        }
    }
    (state.bounds.start < state.bounds.next).then_some(state.bounds.start)
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
