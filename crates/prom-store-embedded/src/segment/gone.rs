//! Ids of events that retention or compaction removed within the dedupe window: publishing them again stores nothing.
//!
//! ```text
//!   segments/<log>/<base>-<generation>.trimmed     magic · u32 CRC of all that follows
//!                                     .compacted   count × (id, u64 offset, i64 stored_ts), sorted by id
//! ```
//!
//! Written and synced before the checkpoint that forgets the events; removed after the window. Nothing else knows these
//! ids any more, so a bad file is reported; its ids are then forgotten early.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use prom_store::{StoreError, StoredAt};
use prom_types::{EpochMs, EventId, Offset, limits};

use super::OpenFiles;
use crate::codec::{Malformed, Put, Take};
use crate::disk::{Create, Disk};
use crate::fault::io;

const MAGIC: &[u8; 8] = b"promgone";
const HEADER_BYTES: u64 = 12;
const ENTRY_BYTES: u64 = 32;

/// Why events are gone. Both can happen to a segment at the same time, so each has a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    Trimmed,
    Compacted,
}

/// The ids of events that were removed together.
pub(crate) struct GoneIds {
    pub(crate) path: PathBuf,
    base: Offset,
    generation: u32,
    removal: Removal,
    /// When the newest of them was stored.
    last_ts: EpochMs,
    /// Known after the first look into the file.
    found: Mutex<Option<IdsFound>>,
}

#[derive(Debug, Clone, Copy)]
struct IdsFound {
    count: u64,
    /// `None` where there are none.
    range: Option<(EventId, EventId)>,
}

pub(crate) fn is_recent(stored_ts: EpochMs, now: EpochMs) -> bool {
    stored_ts > now.saturating_sub(limits::DEDUPE_WINDOW_MS)
}

impl GoneIds {
    fn known(dir: &Path, base: Offset, generation: u32, removal: Removal, last_ts: EpochMs) -> Self {
        let path = dir.join(format!("{base:020}-{generation}.{}", removal.extension()));
        Self { path, base, generation, removal, last_ts, found: Mutex::new(None) }
    }

    /// Makes the file and makes it durable.
    pub(crate) fn write(
        disk: &dyn Disk,
        dir: &Path,
        (base, generation): (Offset, u32),
        removal: Removal,
        mut ids: Vec<(EventId, StoredAt)>,
    ) -> Result<Self, StoreError> {
        ids.sort_unstable_by_key(|(id, place)| (*id, place.offset));
        let mut out = Vec::with_capacity((HEADER_BYTES + ids.len() as u64 * ENTRY_BYTES) as usize);
        out.extend_from_slice(MAGIC);
        out.put_u32(0);
        for (id, place) in &ids {
            out.extend_from_slice(id.as_bytes());
            out.put_u64(place.offset);
            out.put_i64(place.stored_ts);
        }
        let checksum = crc32c::crc32c(&out[HEADER_BYTES as usize..]);
        out[8..12].copy_from_slice(&checksum.to_le_bytes());
        let last_ts = ids.iter().map(|(_, place)| place.stored_ts).max().unwrap_or_default();
        let gone = Self::known(dir, base, generation, removal, last_ts);
        let save = || {
            let file = disk.open(&gone.path, Create::IfMissing)?;
            file.write_at(&out, 0)?;
            file.set_len(out.len() as u64)?;
            file.sync_data()?;
            disk.sync_dir(dir)
        };
        save().map_err(io("writing", &gone.path))?;
        Ok(gone)
    }

    /// Whether one of them may still be asked for.
    pub(crate) fn is_needed(&self, now: EpochMs) -> bool {
        is_recent(self.last_ts, now)
    }

    /// Where the newest event with this id was.
    pub(crate) fn find(&self, files: &OpenFiles, id: EventId) -> Result<Option<StoredAt>, StoreError> {
        let IdsFound { count, range } = self.look(files);
        if range.is_none_or(|(first, last)| id < first || id > last) {
            return Ok(None);
        }
        let file = files.get(&self.path, Create::Never).map_err(io("opening", &self.path))?;
        let (mut low, mut high, mut newest) = (0, count, None);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut entry = [0u8; ENTRY_BYTES as usize];
            file.read_at(&mut entry, HEADER_BYTES + middle * ENTRY_BYTES).map_err(io("reading", &self.path))?;
            let (found, place) = split(&entry).map_err(crate::fault::documents)?;
            if found > id {
                high = middle;
                continue;
            }
            // Several of the same id lie in the order of their offsets.
            newest = (found == id).then_some(place).or(newest);
            low = middle + 1;
        }
        Ok(newest)
    }

    /// Checks the file the first time.
    fn look(&self, files: &OpenFiles) -> IdsFound {
        let mut found = self.found.lock();
        *found.get_or_insert_with(|| {
            self.check(files.disk().as_ref()).unwrap_or_else(|| {
                let file = self.path.display();
                tracing::error!(%file, "cannot be read: publishing what retention or compaction removed lately stores it again");
                IdsFound { count: 0, range: None }
            })
        })
    }

    fn check(&self, disk: &dyn Disk) -> Option<IdsFound> {
        let file = disk.open(&self.path, Create::Never).ok()?;
        let mut bytes = vec![0; usize::try_from(file.len().ok()?).ok()?];
        file.read_at(&mut bytes, 0).ok().filter(|&read| read == bytes.len())?;
        let mut take = Take::new(&bytes);
        let entries = bytes.get(HEADER_BYTES as usize..)?;
        let sound = take.slice(8).ok()? == MAGIC && take.u32().ok()? == crc32c::crc32c(entries);
        let mut ids = entries.chunks_exact(ENTRY_BYTES as usize).map(|entry| split(entry).ok().map(|(id, _)| id));
        let count = ids.len() as u64;
        let first = ids.next().flatten();
        let range = first.map(|first| (first, ids.next_back().flatten().unwrap_or(first)));
        sound.then_some(IdsFound { count, range })
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.put_u64(self.base);
        out.put_u32(self.generation);
        out.put_u8(u8::from(self.removal == Removal::Compacted));
        out.put_i64(self.last_ts);
    }

    pub(crate) fn take(dir: &Path, take: &mut Take<'_>) -> Result<Self, Malformed> {
        let (base, generation) = (take.u64()?, take.u32()?);
        let removal = if take.u8()? != 0 { Removal::Compacted } else { Removal::Trimmed };
        Ok(Self::known(dir, base, generation, removal, take.i64()?))
    }
}

impl Removal {
    fn extension(self) -> &'static str {
        match self {
            Self::Trimmed => "trimmed",
            Self::Compacted => "compacted",
        }
    }
}

fn split(entry: &[u8]) -> Result<(EventId, StoredAt), Malformed> {
    let mut take = Take::new(entry);
    let id = EventId::from_bytes(take.array()?);
    Ok((id, StoredAt { offset: take.u64()?, stored_ts: take.i64()? }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::disk::RealDisk;

    #[test]
    fn removed_ids_are_found_at_their_newest_place_and_a_bad_file_has_none() {
        let dir = tempfile::tempdir().unwrap();
        let id = |number: u64| EventId::derived(&number.to_string());
        let place = |number: u64| StoredAt { offset: number, stored_ts: number as EpochMs };
        let mut ids: Vec<_> = (0..500).map(|number| (id(number), place(number))).collect();
        ids.push((id(7), place(900)));
        let gone = GoneIds::write(&RealDisk, dir.path(), (3, 1), Removal::Trimmed, ids).unwrap();
        let files = OpenFiles::new(Arc::new(RealDisk), 4);
        for number in (0..500).filter(|number| *number != 7) {
            assert_eq!(gone.find(&files, id(number)).unwrap(), Some(place(number)));
        }
        assert_eq!(gone.find(&files, id(7)).unwrap(), Some(place(900)));
        assert_eq!(gone.find(&files, id(501)).unwrap(), None);

        let mut out = Vec::new();
        gone.put(&mut out);
        let again = GoneIds::take(dir.path(), &mut Take::new(&out)).unwrap();
        assert_eq!((&again.path, again.last_ts), (&gone.path, 900));
        let mut bytes = std::fs::read(&gone.path).unwrap();
        bytes[100] ^= 1;
        std::fs::write(&gone.path, bytes).unwrap();
        assert_eq!(again.find(&files, id(8)).unwrap(), None);
    }
}
