//! Where each id of a log's unsealed part may lie, for looking ids up.
//!
//! Sealed segments have their ids on disk; what lies behind the last of them would have to be read
//! whole for every id that is not there. So the first look reads it once and notes a fingerprint of
//! each id; later looks only read what has come since, which as a rule is in memory. An id that is not
//! there then costs no read, one that is there costs the read of its record.
//!
//! Promises: an id that is there is never missed; a fingerprint shared by chance costs one more read.
//! A log has no table until an id is looked for in it. The table is dropped when the segment is sealed,
//! so it holds no more events than a segment and what waits for one, nine to eighteen bytes for each.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use prom_store::{ReadLimit, StoreError};
use prom_types::{EventId, Offset};

use super::Log;
use super::read::{from_anywhere, one};
use crate::segment::OpenFiles;

#[derive(Default)]
pub(crate) struct UnsealedIds {
    /// Where the unsealed part began when the table was begun.
    base: Offset,
    /// Every event before this is in the table.
    covered_to: Offset,
    places: HashTable<Place>,
    /// Differs for each log and process, so that a publisher cannot make up ids that share a fingerprint.
    hasher: RandomState,
}

#[derive(Clone, Copy)]
struct Place {
    fingerprint: u32,
    /// Distance from the base.
    distance: u32,
}

impl UnsealedIds {
    /// The newest event with this id at or behind `unsealed_from`, which never goes back from one call
    /// to the next. May block on the disk.
    pub(crate) fn find(
        &mut self,
        log: &Log,
        files: &OpenFiles,
        interval: u64,
        unsealed_from: Offset,
        id: EventId,
    ) -> Result<Option<Offset>, StoreError> {
        if unsealed_from > self.base {
            self.begin_at(unsealed_from);
        }
        self.cover_what_came(log, files, interval)?;
        for offset in self.candidates(id) {
            if one(log, files, interval, offset)?.is_some_and(|record| record.id() == id) {
                return Ok(Some(offset));
            }
        }
        Ok(None)
    }

    /// A sealed segment has the ids on disk now; the few behind it are noted again.
    fn begin_at(&mut self, base: Offset) {
        *self = Self { base, covered_to: base, ..Self::default() };
    }

    fn cover_what_came(&mut self, log: &Log, files: &OpenFiles, interval: u64) -> Result<(), StoreError> {
        loop {
            let from = self.covered_to;
            let batch = from_anywhere(log, files, interval, from, ReadLimit::default())?;
            for record in &batch.records {
                // A segment and what waits for one have far fewer events than this can count.
                let distance = (record.offset() - self.base) as u32;
                let place = Place { fingerprint: self.fingerprint(record.id()), distance };
                self.places.insert_unique(place.hash(), place, Place::hash);
            }
            if batch.next <= from {
                return Ok(());
            }
            self.covered_to = batch.next;
            if batch.next >= batch.bounds.next {
                return Ok(());
            }
        }
    }

    /// Where the id may lie, newest first.
    fn candidates(&self, id: EventId) -> Vec<Offset> {
        let fingerprint = self.fingerprint(id);
        let alike = self.places.iter_hash(hash_of(fingerprint)).filter(|place| place.fingerprint == fingerprint);
        let mut offsets: Vec<Offset> = alike.map(|place| self.base + u64::from(place.distance)).collect();
        offsets.sort_unstable_by(|a, b| b.cmp(a));
        offsets
    }

    fn fingerprint(&self, id: EventId) -> u32 {
        (self.hasher.hash_one(id) >> 32) as u32
    }
}

impl Place {
    fn hash(&self) -> u64 {
        hash_of(self.fingerprint)
    }
}

/// Fills all bits, because a hash table uses the highest and the lowest.
fn hash_of(fingerprint: u32) -> u64 {
    u64::from(fingerprint) << 32 | u64::from(fingerprint)
}
