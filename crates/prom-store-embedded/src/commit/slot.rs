//! A log as the journal's writer sees it: what the next event gets, and what the frame under way holds.

use std::sync::Arc;

use bytes::Bytes;
use hashbrown::HashMap;
use prom_store::{Append, Dedupe, LogName, LogOptions, NewestOfKey, Record, placed_ts};
use prom_types::{EpochMs, EventId, Offset};

use crate::log::buffers::Buffers;
use crate::log::ids::IdTable;
use crate::log::{Chunk, Log};

pub(super) struct LogSlot {
    pub(super) log: Arc<Log>,
    pub(super) id: u32,
    /// Its number has been written down, or is in the frame under way.
    pub(super) defined: bool,
    pub(super) options: LogOptions,
    pub(super) next: Offset,
    pub(super) begun: Offset,
    pub(super) ended: bool,
    pub(super) last_stored_ts: EpochMs,
    pub(super) ids: IdTable,
    frame: Vec<u8>,
    positions: Vec<u32>,
    durable_ts: EpochMs,
    /// Where the offsets begin that the frame under way leaves empty.
    skipped_from: Option<Offset>,
    /// The newest event of each key in the frame under way, as far as somebody asked: of the first so many events.
    newest: HashMap<Box<str>, NewestOfKey>,
    newest_of: usize,
    exact: bool,
    /// How much to reserve when the next frame touches this log.
    last_frame_bytes: usize,
}

impl LogSlot {
    /// `id` is used if the log has none yet.
    pub(super) fn new(log: Arc<Log>, id: u32) -> Self {
        let state = log.state.lock();
        let slot = Self {
            id: state.id.unwrap_or(id),
            defined: state.id.is_some(),
            options: state.options,
            next: state.bounds.next,
            begun: state.begun,
            ended: state.ended,
            last_stored_ts: state.last_stored_ts,
            durable_ts: state.last_stored_ts,
            ids: match state.bounds.next {
                0 => IdTable::complete(),
                _ => IdTable::default(),
            },
            frame: Vec::new(),
            positions: Vec::new(),
            last_frame_bytes: 0,
            skipped_from: None,
            newest: HashMap::new(),
            newest_of: 0,
            exact: false,
            log: log.clone(),
        };
        drop(state);
        slot
    }

    /// Ends with what the frame under way holds so far.
    pub(super) fn end(&mut self) {
        (self.begun, self.ended) = (self.next, true);
    }

    pub(super) fn name(&self) -> &LogName {
        &self.log.name
    }

    /// Gives the event the next offset in the frame under way.
    pub(super) fn append(
        &mut self,
        buffers: &Buffers,
        Append { event, dedupe, terms, .. }: &Append,
        now: EpochMs,
    ) -> (Offset, EpochMs) {
        self.exact |= *dedupe == Dedupe::Exact;
        let offset = self.next;
        self.last_stored_ts = placed_ts(terms.as_deref(), self.last_stored_ts, now);
        if self.frame.capacity() == 0 {
            self.frame = buffers.take(self.last_frame_bytes.max(event.len()));
        }
        self.positions.push(self.frame.len() as u32);
        event.write_at(offset, self.last_stored_ts, &mut self.frame);
        self.ids.insert(event.id(), offset, now);
        self.next += 1;
        (offset, self.last_stored_ts)
    }

    /// The next event gets this offset. Only while the frame under way has no event of this log: what it has is without
    /// holes.
    pub(super) fn skip(&mut self, to: Offset) {
        self.skipped_from.get_or_insert(self.next);
        self.next = to;
    }

    /// Whether an event can get this offset in the frame under way.
    pub(super) fn takes_at(&self, place: Offset) -> bool {
        !self.is_touched() || place <= self.next
    }

    /// The newest event of a key in the frame under way.
    pub(super) fn newest_in_frame(&mut self, key: &str) -> Option<NewestOfKey> {
        while let Some(&at) = self.positions.get(self.newest_of) {
            self.newest_of += 1;
            let rest = &self.frame[at as usize..];
            let length = prom_store::record::frame_length(rest).unwrap_or(rest.len());
            if let Ok(record) = Record::trusted(&Bytes::copy_from_slice(&rest[..length]))
                && let Some(key) = record.key()
            {
                let newest = NewestOfKey { offset: record.offset(), is_tombstone: record.is_tombstone() };
                self.newest.insert(key.into(), newest);
            }
        }
        self.newest.get(key).copied()
    }

    fn forget_frame(&mut self) {
        self.skipped_from = None;
        self.newest_of = 0;
        self.newest.clear();
    }

    /// The offset from which on events are in the frame under way.
    pub(super) fn frame_base(&self) -> Offset {
        self.next - self.positions.len() as u64
    }

    /// Where the frame under way holds this id.
    pub(super) fn find_in_frame(&self, id: EventId) -> Option<(Offset, EpochMs)> {
        let offset = self.ids.get(id).filter(|offset| *offset >= self.begun)?;
        Some((offset, self.stored_ts_in_frame(offset, id)?))
    }

    /// When an event of the frame under way will have been stored.
    pub(super) fn stored_ts_in_frame(&self, offset: Offset, id: EventId) -> Option<EpochMs> {
        let index = usize::try_from(offset.checked_sub(self.frame_base())?).ok()?;
        let rest = self.frame.get(*self.positions.get(index)? as usize..)?;
        let record = &rest[..prom_store::record::frame_length(rest).ok()?];
        let record = Record::trusted(&Bytes::copy_from_slice(record)).ok()?;
        (record.id() == id).then(|| record.stored_ts())
    }

    pub(super) fn is_touched(&self) -> bool {
        !self.positions.is_empty()
    }

    pub(super) fn records(&self) -> (&[u8], usize) {
        (&self.frame, self.positions.len())
    }

    /// The frame is durable: what it holds of this log, for readers.
    pub(super) fn finish(&mut self) -> Chunk {
        let base = self.frame_base();
        self.durable_ts = self.last_stored_ts;
        self.forget_frame();
        self.last_frame_bytes = self.frame.len();
        let mut bytes = std::mem::take(&mut self.frame);
        // A used buffer may be larger than needed; one that is far too large would waste the cache's room.
        if bytes.capacity() > bytes.len() * 4 {
            bytes.shrink_to_fit();
        }
        let positions = std::mem::take(&mut self.positions);
        Chunk::with_exact(base, bytes.into(), positions.into(), std::mem::take(&mut self.exact))
    }

    /// The frame failed: as if its events had never been handed over.
    pub(super) fn undo(&mut self) {
        self.next = self.skipped_from.unwrap_or(self.frame_base());
        self.last_stored_ts = self.durable_ts;
        self.forget_frame();
        self.exact = false;
        let frame = Bytes::from(std::mem::take(&mut self.frame));
        for at in self.positions.drain(..) {
            if let Ok(record) = Record::trusted(&frame.slice(at as usize..)) {
                self.ids.remove(record.id());
            }
        }
    }
}
