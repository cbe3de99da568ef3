//! Placing events after the head: an offset and a time, or the finding that they are duplicates. Pure.

use bytes::Bytes;
use hashbrown::HashMap;
use prom_store::{Append, CommitError, Dedupe, Outcome, Record, Stored, StoredAt};
use prom_types::{EpochMs, EventId, Offset};

use crate::log::LogView;

/// Exact ids that were found in the database, as a repetition of each is answered.
pub type ExactPlaces = HashMap<EventId, Stored>;

/// The end of a log, including the events placed so far.
pub struct Placer {
    next: Offset,
    stored_ts: EpochMs,
    ids: HashMap<EventId, StoredAt>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Placer {
    pub fn new(known: &LogView, now: EpochMs) -> Self {
        Self {
            next: known.bounds.next,
            stored_ts: known.last_stored_ts.max(now),
            ids: HashMap::new(),
            bytes: Vec::new(),
            ends: Vec::new(),
        }
    }

    pub fn events(&self) -> usize {
        self.ends.len()
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn place(&mut self, append: &Append, known: &LogView, exact: &ExactPlaces) -> Stored {
        let id = append.event.id();
        match self.earlier(&id, append.dedupe, known, exact) {
            Some(known) => known,
            None => self.add(append),
        }
    }

    fn earlier(&self, id: &EventId, dedupe: Dedupe, known: &LogView, exact: &ExactPlaces) -> Option<Stored> {
        if dedupe == Dedupe::Fresh {
            return None;
        }
        let in_window = || known.window.as_ref()?.place_within(id, self.stored_ts);
        let found = self.ids.get(id).copied().or_else(in_window);
        let found = found.map(|place| Stored { duplicate: true, ..place.into() });
        match dedupe {
            Dedupe::Exact => found.or_else(|| exact.get(id).copied()),
            _ => found,
        }
    }

    fn add(&mut self, append: &Append) -> Stored {
        let place = StoredAt { offset: self.next, stored_ts: self.stored_ts };
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
