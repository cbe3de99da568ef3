//! One log in memory: where it begins and ends, its segments, and its newest events.
//!
//! ```text
//!   segments (files)                 tail (memory)
//!   ├── sealed ──┼── sealed ──┼─ active ─┤
//!                              ├── kept ──┼── not yet in a file ──┤
//!                                      filled_to                 next
//! ```
//!
//! The journal's writer adds chunks, the filler moves `filled_to`, readers take whichever holds what
//! they want. Everything here is behind one short lock per log, but for the table in which ids are
//! looked up: that has its own.

pub(crate) mod buffers;
pub(crate) mod find;
mod generations;
pub(crate) mod ids;
pub(crate) mod read;
pub(crate) mod tail;
mod unsealed_ids;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use prom_store::{Bounds, Damage, HeadWatch, LogName, LogOptions};
use prom_types::{EpochMs, Offset};
use tokio::sync::watch;

use crate::segment::{GoneIds, Segment};
pub(crate) use tail::{Chunk, LogTail};
use unsealed_ids::UnsealedIds;

/// A log and its watchers.
pub(crate) struct Log {
    pub(crate) name: LogName,
    pub(crate) state: Mutex<LogState>,
    /// Held while an id is looked up, also during its reads; taken before `state`.
    unsealed_ids: Mutex<UnsealedIds>,
    /// How often segments were dropped or replaced. A table of ids that remembers them looks again.
    removals: AtomicU64,
    watch: watch::Sender<Bounds>,
}

#[derive(Default)]
pub(crate) struct LogState {
    /// Given with the first durable mention; names the directory of its segments.
    pub(crate) id: Option<u32>,
    pub(crate) options: LogOptions,
    pub(crate) bounds: Bounds,
    pub(crate) last_stored_ts: EpochMs,
    /// By base offset. All but the last are sealed; the last may be.
    pub(crate) segments: Vec<Arc<Segment>>,
    /// Ids of removed events that may be published again.
    pub(crate) gone: Vec<Arc<GoneIds>>,
    pub(crate) tail: LogTail,
    /// Every key's latest offset is in the documents.
    pub(crate) latest_known: bool,
    /// What the documents say of latest events before this is outdated: the log began anew, or they were not kept for a
    /// while.
    pub(crate) latest_from: Offset,
    /// A task gathers what is not known yet.
    pub(crate) gathers_latest: bool,
    /// Changed since the last checkpoint wrote it down.
    pub(crate) dirty: bool,
    /// Seal the active segment at the next filling, whatever its size.
    pub(crate) seal_early: bool,
    /// Offsets that were acknowledged and could not be recovered.
    pub(crate) damage: Vec<Damage>,
    /// Where it began anew the last time.
    pub(crate) begun: Offset,
    /// It takes nothing until it begins anew.
    pub(crate) ended: bool,
    /// Documents may still name the latest events of keys from before it ended.
    pub(crate) latest_outdated: bool,
}

impl Log {
    pub(crate) fn new(name: LogName, state: LogState) -> Self {
        let (watch, _) = watch::channel(state.bounds);
        Self { name, state: Mutex::new(state), unsealed_ids: Mutex::default(), removals: AtomicU64::new(0), watch }
    }

    pub(crate) fn watch(&self) -> HeadWatch {
        HeadWatch::new(self.watch.subscribe())
    }

    /// Changes with every removal of events that were in segments.
    pub(crate) fn removals(&self) -> u64 {
        self.removals.load(Ordering::Acquire)
    }

    /// Events were removed, and where their ids are now is in the state.
    pub(crate) fn note_removal(&self) {
        self.removals.fetch_add(1, Ordering::Release);
    }

    /// Tells waiting readers that the bounds moved.
    pub(crate) fn announce(&self, bounds: Bounds) {
        self.watch.send_replace(bounds);
    }
}

impl LogState {
    /// Adds what a durable frame holds of this log.
    pub(crate) fn push(&mut self, chunk: Chunk, last_stored_ts: EpochMs) {
        self.bounds.next = chunk.end();
        self.last_stored_ts = last_stored_ts;
        self.tail.push(chunk);
        self.dirty = true;
    }

    /// Takes new options. Where the latest events are kept from now on, those from before are not known yet.
    pub(crate) fn set_options(&mut self, options: LogOptions) {
        if options.keeps_latest() && !self.options.keeps_latest() {
            self.latest_known = self.bounds.start == self.bounds.next;
            self.latest_from = self.latest_from.max(self.bounds.start);
        }
        self.options = options;
        self.dirty = true;
    }

    /// Whether the caller is to gather the latest offsets: they should be known, are not, and nobody else does.
    pub(crate) fn begins_gathering(&mut self) -> bool {
        let begins = self.options.keeps_latest() && !self.latest_known && !self.gathers_latest;
        self.gathers_latest |= begins;
        begins
    }

    /// The offsets up to `to` stay empty. An event follows in the same frame.
    pub(crate) fn skip(&mut self, to: Offset) {
        self.bounds.next = self.bounds.next.max(to);
        self.dirty = true;
    }

    /// Moves the start. The next checkpoint drops segments that hold nothing any more.
    pub(crate) fn trim(&mut self, start: Offset) {
        self.bounds.start = self.bounds.start.max(start.min(self.bounds.next));
        self.dirty = true;
        let start = self.bounds.start;
        self.tail.drop_before(start);
        self.seal_early |= self.is_active_emptied();
    }

    /// It ends before `at`. The next checkpoint removes its files, and what documents know of it.
    pub(crate) fn end(&mut self, at: Offset) {
        self.trim(at);
        self.begun = at;
        self.latest_from = at;
        self.ended = true;
        self.damage.clear();
        self.latest_outdated = true;
    }

    /// Sealed segments that hold nothing any more.
    pub(crate) fn emptied(&self) -> impl Iterator<Item = &Arc<Segment>> {
        let start = self.bounds.start;
        self.segments.iter().take_while(move |segment| segment.is_sealed() && segment.end() <= start)
    }

    /// All of the active segment's events lie before the start: a log that gets no more events would
    /// keep it forever.
    pub(crate) fn is_active_emptied(&self) -> bool {
        let active = self.segments.last().filter(|segment| !segment.is_sealed());
        active.is_some_and(|active| active.end() <= self.bounds.start && active.event_bytes() > 0)
    }

    /// Bytes in segments and memory that are not counted twice.
    pub(crate) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.event_bytes()).sum::<u64>() + self.tail.unfilled_bytes()
    }
}
