//! Placing events after the head: an offset and a time, or the finding that they are duplicates. Pure.

use bytes::Bytes;
use hashbrown::HashMap;
use prom_store::{Append, CommitError, Dedupe, NewestOfKey, Outcome, Record, Stored, StoredAt, placed_ts};
use prom_types::{EpochMs, EventId, Offset};

use crate::log::LogView;

/// Exact ids that were found in the database, as a repetition of each is answered.
pub type ExactPlaces = HashMap<EventId, Stored>;

/// Where a log ended when it was decided what goes behind. A batch is inserted there and nowhere else: what was decided holds
/// only as long as nothing else is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEnd {
    pub next: Offset,
    /// Bytes ever appended.
    pub total: u64,
}

/// The end of a log, including the events placed so far.
pub struct Placer {
    end: LogEnd,
    next: Offset,
    stored_ts: EpochMs,
    now: EpochMs,
    ids: HashMap<EventId, StoredAt>,
    /// The newest events of keys among those placed so far, where somebody expects something of a key.
    newest: Option<HashMap<String, NewestOfKey>>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Placer {
    pub fn new(known: &LogView, now: EpochMs) -> Self {
        Self {
            end: LogEnd { next: known.bounds.next, total: known.total },
            next: known.bounds.next,
            stored_ts: known.last_stored_ts,
            now,
            ids: HashMap::new(),
            newest: None,
            bytes: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// As `new`, and remembers the keys of what it places.
    pub fn with_keys(known: &LogView, now: EpochMs) -> Self {
        Self { newest: Some(HashMap::new()), ..Self::new(known, now) }
    }

    /// Where the log ended before anything was placed.
    pub fn end(&self) -> LogEnd {
        self.end
    }

    pub fn next(&self) -> Offset {
        self.next
    }

    /// The newest event of a key among those placed so far.
    pub fn newest(&self, key: &str) -> Option<NewestOfKey> {
        self.newest.as_ref()?.get(key).copied()
    }

    pub fn events(&self) -> usize {
        self.ends.len()
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// `place` is where the first event of its commit goes, unless that is taken by now.
    pub fn place(&mut self, append: &Append, place: Option<Offset>, known: &LogView, exact: &ExactPlaces) -> Stored {
        let id = append.event.id();
        match self.earlier(&id, append.dedupe, known, exact) {
            Some(known) => known,
            None => {
                self.next = self.next.max(place.unwrap_or(0));
                self.add(append)
            }
        }
    }

    /// Where the event is already, in the log or among those placed so far.
    pub fn earlier(&self, id: &EventId, dedupe: Dedupe, known: &LogView, exact: &ExactPlaces) -> Option<Stored> {
        if dedupe == Dedupe::Fresh {
            return None;
        }
        let in_window = || known.window.as_ref()?.place_within(id, self.stored_ts.max(self.now));
        let found = self.ids.get(id).copied().or_else(in_window);
        let found = found.map(|place| Stored { duplicate: true, ..place.into() });
        match dedupe {
            Dedupe::Exact => found.or_else(|| exact.get(id).copied()),
            _ => found,
        }
    }

    fn add(&mut self, append: &Append) -> Stored {
        self.stored_ts = placed_ts(append.terms.as_deref(), self.stored_ts, self.now);
        let place = StoredAt { offset: self.next, stored_ts: self.stored_ts };
        if let (Some(newest), Some(key)) = (&mut self.newest, append.event.key()) {
            let placed = NewestOfKey { offset: place.offset, is_tombstone: append.event.is_tombstone() };
            newest.insert(key.to_owned(), placed);
        }
        append.event.write_at(place.offset, place.stored_ts, &mut self.bytes);
        self.ends.push(self.bytes.len());
        self.ids.insert(append.event.id(), place);
        self.next += 1;
        place.into()
    }

    /// The new records, sharing one buffer.
    pub fn into_records(self) -> Result<Vec<Record>, CommitError> {
        let bytes = Bytes::from(self.bytes);
        let mut at = 0;
        let cut = self.ends.into_iter().map(|end| {
            let record = Record::trusted(&bytes.slice(at..end));
            at = end;
            record
        });
        cut.collect::<Result<_, _>>()
            .map_err(|fault| CommitError::Failed { reason: fault.to_string(), outcome: Outcome::NotStored })
    }
}
