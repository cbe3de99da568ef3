//! Reading a log: from memory where it reaches, else from the segment that holds the offset.

use std::sync::Arc;

use prom_store::{Bounds, Damage, ReadBatch, ReadLimit, Record, StoreError};
use prom_types::Offset;

use super::{Log, LogState};
use crate::fault;
use crate::segment::read::SegmentRead;
use crate::segment::{OpenFiles, Segment};

/// How far back a read goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To the log's start.
    Retained,
    /// Also before it, to what has not left the files yet.
    Stored,
}

impl Reach {
    fn start(self, bounds: Bounds) -> Offset {
        match self {
            Self::Retained => bounds.start,
            Self::Stored => 0,
        }
    }
}

/// Where an offset is read from.
enum Source {
    /// Nothing there (yet).
    Nothing(Bounds),
    Memory(ReadBatch),
    File(Arc<Segment>, Bounds),
}

/// The batch if memory holds it; `None` means that a file must be read, which may block.
pub(crate) fn from_memory(log: &Log, from: Offset, limit: ReadLimit) -> Option<ReadBatch> {
    match locate(&log.state.lock(), from, limit, Reach::Retained) {
        Source::Nothing(bounds) => Some(empty(bounds, from)),
        Source::Memory(batch) => Some(batch),
        Source::File(..) => None,
    }
}

/// The batch, from wherever it is. May block on the disk.
pub(crate) fn from_anywhere(
    log: &Log,
    files: &OpenFiles,
    interval: u64,
    from: Offset,
    limit: ReadLimit,
) -> Result<ReadBatch, StoreError> {
    within(log, files, interval, from, limit, Reach::Retained)
}

/// As [`from_anywhere`], and perhaps from before the log's start.
pub(crate) fn within(
    log: &Log,
    files: &OpenFiles,
    interval: u64,
    from: Offset,
    limit: ReadLimit,
    reach: Reach,
) -> Result<ReadBatch, StoreError> {
    let mut from = from;
    loop {
        let source = locate(&log.state.lock(), from, limit, reach);
        let (segment, bounds) = match source {
            Source::Nothing(bounds) => return Ok(empty(bounds, from)),
            Source::Memory(batch) => return Ok(batch),
            Source::File(segment, bounds) => (segment, bounds),
        };
        from = from.max(reach.start(bounds));
        let read = match segment.read(files, interval, from, limit) {
            Ok(read) => read,
            // Retention or compaction may have replaced the segment since we looked; then look again.
            Err(StoreError::Io { .. }) if !is_current(log, &segment) => continue,
            Err(error) if fault::is_missing(&error) => SegmentRead::missing(&segment, from),
            Err(error) => return Err(error),
        };
        if read.records.is_empty() && read.damage.is_none() && read.next > from {
            from = read.next;
            continue;
        }
        let damage = read.damage.or_else(|| damage_between(&log.state.lock(), from, read.next));
        return Ok(ReadBatch { records: read.records, next: read.next, bounds, damage });
    }
}

/// One event, from wherever it is.
pub(crate) fn one(log: &Log, files: &OpenFiles, interval: u64, offset: Offset) -> Result<Option<Record>, StoreError> {
    one_within(log, files, interval, offset, Reach::Retained)
}

pub(crate) fn one_within(
    log: &Log,
    files: &OpenFiles,
    interval: u64,
    offset: Offset,
    reach: Reach,
) -> Result<Option<Record>, StoreError> {
    let batch = within(log, files, interval, offset, ReadLimit { events: 1, bytes: 1 }, reach)?;
    Ok(batch.records.into_iter().next().filter(|record| record.offset() == offset))
}

/// What a look into a segment found; nothing if its file is missing although the log still has it. Reading reports that.
pub(crate) fn unless_missing<T: Default>(
    log: &Log,
    segment: &Arc<Segment>,
    found: Result<T, StoreError>,
) -> Result<T, StoreError> {
    match found {
        Err(error) if fault::is_missing(&error) && is_current(log, segment) => Ok(T::default()),
        found => found,
    }
}

pub(crate) fn is_current(log: &Log, segment: &Arc<Segment>) -> bool {
    log.state.lock().segments.iter().any(|current| Arc::ptr_eq(current, segment))
}

fn empty(bounds: Bounds, from: Offset) -> ReadBatch {
    ReadBatch { next: from.max(bounds.start).max(bounds.next.min(from)), bounds, ..ReadBatch::default() }
}

fn locate(state: &LogState, from: Offset, limit: ReadLimit, reach: Reach) -> Source {
    let bounds = state.bounds;
    let from = from.max(reach.start(bounds));
    if from >= bounds.next {
        return Source::Nothing(bounds);
    }
    let in_memory = state.tail.base().is_some_and(|base| base <= from);
    if !in_memory {
        let holder = state.segments.partition_point(|segment| segment.end() <= from);
        if let Some(segment) = state.segments.get(holder) {
            return Source::File(segment.clone(), bounds);
        }
    }
    match state.tail.chunk_from(from) {
        Some(index) => Source::Memory(gather(state, index, from, limit)),
        None => Source::Memory(ReadBatch {
            next: bounds.next,
            bounds,
            damage: damage_between(state, from, bounds.next),
            ..ReadBatch::default()
        }),
    }
}

fn gather(state: &LogState, index: usize, from: Offset, limit: ReadLimit) -> ReadBatch {
    let mut records = Vec::with_capacity(limit.events.min(1024));
    let mut bytes = 0;
    let mut next = from;
    'chunks: for chunk in state.tail.chunks_from(index) {
        for offset in chunk.base().max(from)..chunk.end() {
            if records.len() >= limit.events {
                break 'chunks;
            }
            if let Some(record) = chunk.record(offset) {
                if bytes + record.len() > limit.bytes && !records.is_empty() {
                    break 'chunks;
                }
                bytes += record.len();
                records.push(record);
            }
            next = offset + 1;
        }
    }
    ReadBatch { records, next, bounds: state.bounds, damage: damage_between(state, from, next) }
}

fn damage_between(state: &LogState, from: Offset, to: Offset) -> Option<Damage> {
    let touches = |damage: &&Damage| damage.lost.as_ref().is_some_and(|lost| lost.start < to && lost.end > from);
    state.damage.iter().find(touches).cloned()
}
