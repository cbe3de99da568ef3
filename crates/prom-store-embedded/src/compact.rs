//! Compaction of a log: sealed segments are rewritten with only the latest event of each key.
//!
//! The active segment is never touched, nor is anything at or beyond the limit of the plan; segments are cleaned in offset order,
//! so that no tombstone goes before what it deleted. A tombstone stays until its grace has passed, counted from
//! when its segment was first cleaned, so that slow readers learn of the deletion.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use prom_store::{CompactReport, KeysBefore, LogName, NewestOfKey, ReadLimit, Record, StoreError, StoredAt};
use prom_types::{EpochMs, EventId, Offset};

use crate::codec::{Put, Take};
use crate::documents::keys;
use crate::fault;
use crate::log::Log;
use crate::log::read::{Reach, from_anywhere, one_within};
use crate::segment::gone::{Removal, is_recent};
use crate::segment::{GoneIds, RECORDS_AT, Segment};
use crate::shared::StoreShared;

/// How long a run that is ahead of its pace sleeps before it looks whether the store closes.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// How the documents say what the latest event of a key is.
const LIVE: u8 = 0;
const TOMBSTONE: u8 = 1;

/// What a plan says to one run.
#[derive(Clone, Copy)]
pub(crate) struct CompactRun {
    pub(crate) before: Offset,
    pub(crate) grace: Duration,
    pub(crate) bytes_per_s: Option<u64>,
    pub(crate) removal: Removing,
}

/// Whether a run removes what it finds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removing {
    /// It ends at the first event that it would remove.
    NotYet,
    Yes,
}

/// What a run found.
pub(crate) struct CompactFound {
    pub(crate) report: CompactReport,
    /// There is something to remove, and nothing was removed. What replaces what need not be found out again.
    pub(crate) removes: Option<KeysBefore>,
}

pub(crate) fn compact(
    shared: &StoreShared,
    log: &Arc<Log>,
    run: CompactRun,
    keys: Option<KeysBefore>,
) -> Result<CompactFound, StoreError> {
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
    let mut found = CompactFound {
        report: CompactReport {
            events_before: events_untouched,
            events_after: events_untouched,
            bytes_before: bytes_untouched,
            bytes_after: bytes_untouched,
        },
        removes: None,
    };
    let Some(id) = id.filter(|_| !sealed.is_empty()) else {
        return Ok(found);
    };
    let mut pace = Pace::new(shared, run.bytes_per_s);
    let keys = match keys {
        Some(keys) => keys,
        None => keys_before(shared, log, run.before, &mut pace)?,
    };
    let mut cleaning = Cleaning { shared, log, id, run, keys, pace };
    for segment in sealed {
        let before = *segment.meta.lock();
        let after = match cleaning.clean(&segment)? {
            Cleaned::AsItWas => before,
            Cleaned::Rewritten(after) => after,
            Cleaned::WouldRemove => {
                found.removes = Some(cleaning.keys);
                return Ok(found);
            }
        };
        found.report.events_before += before.events;
        found.report.bytes_before += before.length - RECORDS_AT;
        found.report.events_after += after.events;
        found.report.bytes_after += after.length - RECORDS_AT;
    }
    Ok(found)
}

/// The newest event of each key before the limit, also of what is not sealed.
fn keys_before(shared: &StoreShared, log: &Log, before: Offset, pace: &mut Pace<'_>) -> Result<KeysBefore, StoreError> {
    let mut keys = KeysBefore::default();
    let mut from = 0;
    loop {
        let batch = from_anywhere(log, &shared.files, shared.interval(), from, ReadLimit::default())?;
        for record in batch.records.iter().take_while(|record| record.offset() < before) {
            if let Some(key) = record.key() {
                keys.note(key, record.offset());
            }
        }
        pace.spend(batch.records.iter().map(|record| record.len() as u64).sum())?;
        if batch.next <= from || batch.next >= before.min(batch.bounds.next) {
            return Ok(keys);
        }
        from = batch.next;
    }
}

/// Keeps a run from taking the disk for itself, and ends it with the store.
struct Pace<'a> {
    shared: &'a StoreShared,
    bytes_per_s: Option<u64>,
    began: Instant,
    spent: u64,
}

impl<'a> Pace<'a> {
    fn new(shared: &'a StoreShared, bytes_per_s: Option<u64>) -> Self {
        Self { shared, bytes_per_s, began: Instant::now(), spent: 0 }
    }

    /// So many bytes were read. Waits until that many may have been.
    fn spend(&mut self, bytes: u64) -> Result<(), StoreError> {
        self.spent += bytes;
        loop {
            if self.shared.queue.is_closed() {
                return Err(StoreError::Closed);
            }
            let Some(bytes_per_s) = self.bytes_per_s.filter(|rate| *rate > 0) else {
                return Ok(());
            };
            let due = Duration::from_secs_f64(self.spent as f64 / bytes_per_s as f64);
            let wait = due.saturating_sub(self.began.elapsed()).min(LONGEST_PAUSE);
            if wait.is_zero() {
                return Ok(());
            }
            std::thread::sleep(wait);
        }
    }
}

struct Cleaning<'a> {
    shared: &'a StoreShared,
    log: &'a Arc<Log>,
    id: u32,
    run: CompactRun,
    keys: KeysBefore,
    pace: Pace<'a>,
}

/// What became of a segment.
enum Cleaned {
    AsItWas,
    Rewritten(crate::segment::SegmentMeta),
    WouldRemove,
}

impl Cleaning<'_> {
    fn clean(&mut self, segment: &Arc<Segment>) -> Result<Cleaned, StoreError> {
        let shared = self.shared;
        if segment.base >= self.run.before {
            return Ok(Cleaned::AsItWas);
        }
        let now = shared.options.clock.now_ms();
        let grace = EpochMs::try_from(self.run.grace.as_millis()).unwrap_or(EpochMs::MAX);
        let cleaned_at = segment.meta.lock().cleaned_at;
        let tombstones_expire = cleaned_at.is_some_and(|cleaned| now >= cleaned.saturating_add(grace));
        let mut dropped: HashMap<Offset, Dropped> = HashMap::new();
        segment.for_each(&shared.files, |record| {
            let Some(key) = record.key() else {
                // From before compaction was turned on: nothing can replace it.
                return Ok(());
            };
            let expired = tombstones_expire && self.is_last_word(&record, key)?;
            if expired || self.is_replaced(&record, key)? {
                dropped.insert(record.offset(), Dropped::new(&record, expired));
            }
            Ok(())
        })?;
        self.pace.spend(segment.event_bytes())?;
        if dropped.is_empty() {
            let mut meta = segment.meta.lock();
            meta.cleaned_at.get_or_insert(now);
            drop(meta);
            self.log.state.lock().dirty = true;
            return Ok(Cleaned::AsItWas);
        }
        if self.run.removal == Removing::NotYet {
            return Ok(Cleaned::WouldRemove);
        }
        let dir = shared.segments_dir(self.id);
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
        self.pace.spend(segment.event_bytes() + meta.length)?;
        let is_in_place = swap(shared, self.log, self.id, segment, (copy, gone), &dropped)?;
        Ok(if is_in_place { Cleaned::Rewritten(meta) } else { Cleaned::AsItWas })
    }

    /// A later event of the key, before the limit, has taken its place.
    fn is_replaced(&self, record: &Record, key: &str) -> Result<bool, StoreError> {
        let CompactRun { before, .. } = self.run;
        if record.offset() >= before {
            return Ok(false);
        }
        match self.keys.has_replaced(key, record.offset()) {
            Some(known) => Ok(known),
            None => {
                let latest = latest_offset(self.shared, self.id, key)?;
                Ok(latest.is_some_and(|latest| latest > record.offset() && latest < before))
            }
        }
    }

    /// A tombstone that nothing replaced.
    fn is_last_word(&self, record: &Record, key: &str) -> Result<bool, StoreError> {
        let may_go = record.is_tombstone() && record.offset() < self.run.before;
        Ok(may_go && latest_offset(self.shared, self.id, key)? == Some(record.offset()))
    }
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
        known.extend(exact);
        if let Some(key) = &gone.forgotten_key {
            known.extend(stored_tombstones(*offset).map(|value| (keys::latest(id, key), value)));
        }
    }
    shared.state.forget_unchanged(&known)?;
    Ok(true)
}

/// Makes sure that every key's latest offset is known, also of events from before the log was compacted.
pub(crate) fn know_latest(shared: &StoreShared, log: &Arc<Log>) -> Result<(), StoreError> {
    let (id, known, until) = {
        let state = log.state.lock();
        if !state.options.keeps_latest() {
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
                shared.state.put(keys::latest(id, key), Some(stored_latest(record)));
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

/// The latest event of a key as the documents have it: its offset, and whether it is a tombstone.
pub(crate) fn stored_latest(record: &Record) -> Bytes {
    latest_value(record.offset(), if record.is_tombstone() { TOMBSTONE } else { LIVE })
}

/// How a tombstone may be stored as the latest event of its key. Earlier versions stored the offset alone.
pub(crate) fn stored_tombstones(offset: Offset) -> [Bytes; 2] {
    [latest_value(offset, TOMBSTONE), Bytes::copy_from_slice(&offset.to_le_bytes())]
}

fn latest_value(offset: Offset, kind: u8) -> Bytes {
    let mut value = Vec::with_capacity(9);
    value.put_u64(offset);
    value.put_u8(kind);
    value.into()
}

/// The newest event of a key, as far as the documents know: also where retention has removed it.
pub(crate) fn newest(
    shared: &StoreShared,
    log: &Arc<Log>,
    id: u32,
    key: &str,
) -> Result<Option<NewestOfKey>, StoreError> {
    let Some(stored) = shared.state.get(&keys::latest(id, key))? else {
        return Ok(None);
    };
    let mut take = Take::new(&stored);
    let offset = take.u64().map_err(fault::documents)?;
    let is_tombstone = match take.u8() {
        Ok(kind) => kind == TOMBSTONE,
        // From before this was kept. An event that is gone counts as live: nobody said that its key was deleted.
        Err(_) => {
            let record = one_within(log, &shared.files, shared.interval(), offset, Reach::Stored)?;
            record.is_some_and(|record| record.is_tombstone())
        }
    };
    Ok(Some(NewestOfKey { offset, is_tombstone }))
}
