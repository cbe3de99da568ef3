//! The sparse index of a segment: at every interval an entry of offset, time and position.
//! A cache: it lies beside the segment once that is sealed, and is rebuilt by reading it when missing or bad.

use std::sync::Arc;

use prom_store::StoreError;
use prom_types::{EpochMs, Offset};

use super::read::SegmentScan;
use super::{OpenFiles, RECORDS_AT, Segment};
use crate::codec::{Malformed, Put, Take};
use crate::disk::Create;
use crate::fault::io;

const MAGIC: &[u8; 8] = b"promindx";

/// Entries by offset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SparseIndex {
    entries: Vec<IndexEntry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) offset: Offset,
    pub(crate) stored_ts: EpochMs,
    pub(crate) position: u64,
}

impl SparseIndex {
    /// Takes an entry if it is far enough from the last.
    pub(crate) fn offer(&mut self, entry: IndexEntry, interval: u64) {
        if self.entries.last().is_none_or(|last| entry.position >= last.position + interval) {
            self.entries.push(entry);
        }
    }

    /// Where to begin reading for `offset`.
    pub(crate) fn position_of(&self, offset: Offset) -> u64 {
        let after = self.entries.partition_point(|entry| entry.offset <= offset);
        self.entries[..after].last().map_or(RECORDS_AT, |entry| entry.position)
    }

    /// Where to begin reading for the first event at or after `stored_ts`.
    pub(crate) fn position_of_time(&self, stored_ts: EpochMs) -> u64 {
        let after = self.entries.partition_point(|entry| entry.stored_ts < stored_ts);
        self.entries[..after].last().map_or(RECORDS_AT, |entry| entry.position)
    }

    /// A known beginning of a record at or before `position`.
    pub(crate) fn position_before(&self, position: u64) -> u64 {
        let after = self.entries.partition_point(|entry| entry.position <= position);
        self.entries[..after].last().map_or(RECORDS_AT, |entry| entry.position)
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16 + self.entries.len() * 24);
        out.extend_from_slice(MAGIC);
        out.put_u32(0);
        for entry in &self.entries {
            out.put_u64(entry.offset);
            out.put_i64(entry.stored_ts);
            out.put_u64(entry.position);
        }
        let checksum = crc32c::crc32c(&out[12..]);
        out[8..12].copy_from_slice(&checksum.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut take = Take::new(bytes);
        if take.slice(8)? != MAGIC || take.u32()? != crc32c::crc32c(&bytes[12..]) {
            return Err(Malformed);
        }
        let mut index = Self::default();
        while !take.is_empty() {
            index.entries.push(IndexEntry { offset: take.u64()?, stored_ts: take.i64()?, position: take.u64()? });
        }
        Ok(index)
    }
}

impl Segment {
    /// The index: from memory, from its file, or made by reading the segment.
    pub(crate) fn index(&self, files: &OpenFiles, interval: u64) -> Result<Arc<SparseIndex>, StoreError> {
        if let Some(index) = &*self.index.lock() {
            return Ok(index.clone());
        }
        let index = match self.load_index(files) {
            Some(index) => index,
            None => self.rebuild_index(files, interval)?,
        };
        let mut slot = self.index.lock();
        Ok(slot.get_or_insert_with(|| Arc::new(index)).clone())
    }

    /// Notes where appended records lie. An index that is not loaded stays so; reading will make it whole.
    pub(crate) fn extend_index(&self, entries: impl Iterator<Item = IndexEntry>, interval: u64) {
        if let Some(index) = &mut *self.index.lock() {
            let index = Arc::make_mut(index);
            entries.for_each(|entry| index.offer(entry, interval));
        }
    }

    pub(crate) fn save_index(&self, files: &OpenFiles, interval: u64) -> Result<(), StoreError> {
        let index = self.index(files, interval)?;
        let path = self.index_path();
        let bytes = index.encode();
        let save = || {
            let file = files.disk().open(&path, Create::IfMissing)?;
            file.write_at(&bytes, 0)?;
            file.set_len(bytes.len() as u64)?;
            // A file of the same name, written before a crash for other events, must not come back after the next.
            file.sync_data()
        };
        save().map_err(io("writing", &path))
    }

    /// Sealed segments can find their index again, so memory need not keep it.
    pub(crate) fn forget_index(&self) {
        *self.index.lock() = None;
    }

    /// Compares the index file with the segment and rewrites it if it is missing or wrong.
    pub(crate) fn mend_index(&self, files: &OpenFiles, interval: u64) -> Result<bool, StoreError> {
        let right = self.rebuild_index(files, interval)?;
        if self.load_index(files).is_some_and(|found| found == right) {
            return Ok(false);
        }
        *self.index.lock() = Some(Arc::new(right));
        self.save_index(files, interval)?;
        Ok(true)
    }

    fn load_index(&self, files: &OpenFiles) -> Option<SparseIndex> {
        if !self.is_sealed() {
            return None;
        }
        let file = files.disk().open(&self.index_path(), Create::Never).ok()?;
        let mut bytes = vec![0; usize::try_from(file.len().ok()?).ok()?];
        let length = file.read_at(&mut bytes, 0).ok()?;
        SparseIndex::decode(&bytes[..length]).ok().filter(|index| !index.entries.is_empty())
    }

    pub(crate) fn rebuild_index(&self, files: &OpenFiles, interval: u64) -> Result<SparseIndex, StoreError> {
        let mut index = SparseIndex::default();
        let mut scan = SegmentScan::new(self, files, RECORDS_AT)?;
        while let Some((position, item)) = scan.next_record()? {
            // Reading the events reports damage; the index only skips it.
            if let Ok(record) = item {
                let entry = IndexEntry { offset: record.offset(), stored_ts: record.stored_ts(), position };
                index.offer(entry, interval);
            }
        }
        Ok(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_read_back_and_a_damaged_one_is_refused() {
        let mut index = SparseIndex::default();
        for n in 0..100u64 {
            let entry = IndexEntry { offset: n * 3, stored_ts: n as i64 * 10, position: RECORDS_AT + n * 50 };
            index.offer(entry, 100);
        }
        assert_eq!(index.entries.len(), 50);
        assert_eq!(index.position_of(0), RECORDS_AT);
        assert_eq!(index.position_of(7), RECORDS_AT + 100);
        assert_eq!(index.position_of_time(21), RECORDS_AT + 100);
        let bytes = index.encode();
        assert_eq!(SparseIndex::decode(&bytes), Ok(index));
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 4;
            assert!(SparseIndex::decode(&bad).is_err(), "byte {at}");
        }
    }
}
