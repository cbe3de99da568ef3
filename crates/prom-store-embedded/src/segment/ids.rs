//! Ids of a sealed segment, sorted, so that one can be found with a few small reads and no memory.
//!
//! ```text
//!   magic · u32 CRC of all that follows · u64 count · first id · last id · count × (id, u32 offset − base | exact bit)
//! ```
//! A cache: it is checked whole before its first use, and one that is missing or bad is made again from
//! the segment.

use std::ops::RangeInclusive;

use prom_store::{StoreError, StoredAt};
use prom_types::{EpochMs, EventId, Offset};

use super::gone::is_recent;
use super::read::SegmentScan;
use super::{OpenFiles, RECORDS_AT, Segment};
use crate::codec::{Put, Take};
use crate::disk::Create;
use crate::fault::io;

const MAGIC: &[u8; 8] = b"promidsx";
const HEADER_BYTES: u64 = 52;
const ENTRY_BYTES: u64 = 20;
const EXACT: u32 = 1 << 31;

/// What memory keeps of the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdsHeader {
    count: u64,
    first: EventId,
    last: EventId,
}

impl Segment {
    /// The smallest and the largest id; `None` if there is no event. Only for sealed segments.
    pub(crate) fn id_range(&self, files: &OpenFiles) -> Result<Option<RangeInclusive<EventId>>, StoreError> {
        let header = self.ids_header(files)?;
        Ok((header.count > 0).then_some(header.first..=header.last))
    }

    /// Where the newest event with this id lies, if there is one. Only for sealed segments.
    pub(crate) fn find_id(&self, files: &OpenFiles, id: EventId) -> Result<Option<Offset>, StoreError> {
        let path = self.ids_path();
        let header = self.ids_header(files)?;
        if header.count == 0 || id < header.first || id > header.last {
            return Ok(None);
        }
        let file = files.get(&path, Create::Never).map_err(io("opening", &path))?;
        let entry_at = |at: u64| {
            let mut entry = [0u8; ENTRY_BYTES as usize];
            file.read_at(&mut entry, HEADER_BYTES + at * ENTRY_BYTES).map_err(io("reading", &path))?;
            Ok::<_, StoreError>(split(&entry))
        };
        let (mut low, mut high) = (0, header.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if entry_at(middle)?.0 < id { low = middle + 1 } else { high = middle }
        }
        let mut newest = None;
        while low < header.count
            && let (found, place) = entry_at(low)?
            && found == id
        {
            newest = newest.max(Some(self.base + u64::from(place & !EXACT)));
            low += 1;
        }
        Ok(newest)
    }

    /// The ids of events that were stored within the window.
    pub(crate) fn recent_ids(&self, files: &OpenFiles, now: EpochMs) -> Result<Vec<(EventId, StoredAt)>, StoreError> {
        let mut ids = Vec::new();
        if !is_recent(self.meta.lock().last_ts, now) {
            return Ok(ids);
        }
        let mut scan = SegmentScan::new(self, files, RECORDS_AT)?;
        while let Some((_, item)) = scan.next_record()? {
            let recent = item.ok().filter(|record| is_recent(record.stored_ts(), now));
            ids.extend(
                recent.map(|record| (record.id(), StoredAt { offset: record.offset(), stored_ts: record.stored_ts() })),
            );
        }
        Ok(ids)
    }

    /// Ids that were published as exact, so that they can be forgotten with the segment.
    pub(crate) fn exact_ids(&self, files: &OpenFiles) -> Result<Vec<(EventId, Offset)>, StoreError> {
        let mut ids = Vec::new();
        let mut scan = SegmentScan::new(self, files, RECORDS_AT)?;
        while let Some((_, item)) = scan.next_record()? {
            let exact = item.ok().filter(|record| record.is_exact());
            ids.extend(exact.map(|record| (record.id(), record.offset())));
        }
        Ok(ids)
    }

    /// Reads the segment and writes its ids in order.
    pub(crate) fn save_ids(&self, files: &OpenFiles) -> Result<IdsHeader, StoreError> {
        let mut ids = Vec::new();
        let mut scan = SegmentScan::new(self, files, RECORDS_AT)?;
        while let Some((_, item)) = scan.next_record()? {
            if let Ok(record) = item {
                let exact = if record.is_exact() { EXACT } else { 0 };
                ids.push((record.id(), (record.offset() - self.base) as u32 & !EXACT | exact));
            }
        }
        ids.sort_unstable();
        let mut out = Vec::with_capacity((HEADER_BYTES + ids.len() as u64 * ENTRY_BYTES) as usize);
        out.extend_from_slice(MAGIC);
        out.put_u32(0);
        out.put_u64(ids.len() as u64);
        let end = |end: Option<&(EventId, u32)>| end.map_or(EventId::from_bytes([0; 16]), |(id, _)| *id);
        let header = IdsHeader { count: ids.len() as u64, first: end(ids.first()), last: end(ids.last()) };
        out.extend_from_slice(header.first.as_bytes());
        out.extend_from_slice(header.last.as_bytes());
        for (id, place) in ids {
            out.extend_from_slice(id.as_bytes());
            out.put_u32(place);
        }
        let checksum = crc32c::crc32c(&out[12..]);
        out[8..12].copy_from_slice(&checksum.to_le_bytes());
        let path = self.ids_path();
        let save = || {
            let file = files.disk().open(&path, Create::IfMissing)?;
            file.write_at(&out, 0)?;
            file.set_len(out.len() as u64)?;
            // A file of the same name, written before a crash for other events, must not come back after the next.
            file.sync_data()
        };
        save().map_err(io("writing", &path))?;
        *self.ids.lock() = Some(header);
        Ok(header)
    }

    /// Checks the file the first time, and makes it again if need be.
    fn ids_header(&self, files: &OpenFiles) -> Result<IdsHeader, StoreError> {
        if let Some(header) = *self.ids.lock() {
            return Ok(header);
        }
        match self.check_ids(files) {
            Some(header) => {
                *self.ids.lock() = Some(header);
                Ok(header)
            }
            None => self.save_ids(files),
        }
    }

    /// `None` where the file is missing, cut short or bad.
    fn check_ids(&self, files: &OpenFiles) -> Option<IdsHeader> {
        let file = files.disk().open(&self.ids_path(), Create::Never).ok()?;
        let mut bytes = vec![0; usize::try_from(file.len().ok()?).ok()?];
        file.read_at(&mut bytes, 0).ok().filter(|&read| read == bytes.len())?;
        let mut take = Take::new(&bytes);
        let sound = take.slice(8).ok()? == MAGIC && take.u32().ok()? == crc32c::crc32c(&bytes[12..]);
        let header = IdsHeader {
            count: take.u64().ok()?,
            first: EventId::from_bytes(take.array().ok()?),
            last: EventId::from_bytes(take.array().ok()?),
        };
        let whole = bytes.len() as u64 == HEADER_BYTES + header.count.checked_mul(ENTRY_BYTES)?;
        (sound && whole).then_some(header)
    }
}

fn split(entry: &[u8; ENTRY_BYTES as usize]) -> (EventId, u32) {
    let (mut id, mut place) = ([0; 16], [0; 4]);
    id.copy_from_slice(&entry[..16]);
    place.copy_from_slice(&entry[16..]);
    (EventId::from_bytes(id), u32::from_le_bytes(place))
}
