//! One journal file: a header block, then room for frames, all of it written once before use so that
//! syncing a frame later changes no file metadata.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::codec::{Put, Take};
use crate::disk::{BLOCK_BYTES, Create, Disk, DiskFile};

const MAGIC: &[u8; 8] = b"promjrnl";
const VERSION: u32 = 1;
/// Frames begin here; the header has a block of its own.
pub(crate) const FRAMES_AT: u64 = 4096;
const HEADER_BYTES: usize = 32;
/// Where a full file names the frame with which the next file begins. In a sector of its own, so that writing it cannot
/// harm the header.
const NEXT_AT: usize = 512;
const NEXT_MAGIC: &[u8; 8] = b"promnext";
const NEXT_BYTES: usize = 20;
const ZEROS: usize = 1 << 20;

/// Which frames a file holds: those from `first_frame` on, until a file of a higher claim begins.
/// Of two files that claim the same frame the later generation counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Claim {
    pub(crate) first_frame: u64,
    pub(crate) generation: u64,
}

/// An open journal file.
#[derive(Clone)]
pub(crate) struct JournalFile {
    pub(crate) slot: u32,
    pub(crate) path: PathBuf,
    pub(crate) capacity: u64,
    pub(crate) handle: Arc<dyn DiskFile>,
}

pub(crate) fn path_of(dir: &Path, slot: u32) -> PathBuf {
    dir.join(format!("{slot}.journal"))
}

/// The slots of the journal files in a directory.
pub(crate) fn slots(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<u32>> {
    let slot = |name: &String| name.strip_suffix(".journal")?.parse().ok();
    let mut slots: Vec<u32> = disk.list(dir)?.iter().filter_map(slot).collect();
    slots.sort_unstable();
    Ok(slots)
}

impl JournalFile {
    /// Makes a file, fills it with zeros and makes all of that durable.
    pub(crate) fn create(disk: &dyn Disk, dir: &Path, slot: u32, capacity: u64) -> io::Result<Self> {
        let path = path_of(dir, slot);
        let handle = disk.open(&path, Create::IfMissing)?;
        let filled = zero(&*handle, capacity).and_then(|()| disk.sync_dir(dir));
        if let Err(error) = filled {
            // Half a file is of no use and takes room that may be short; failing to remove it changes nothing.
            let _best_effort = disk.remove(&path);
            return Err(error);
        }
        Ok(Self { slot, path, capacity, handle })
    }

    /// As far as frames may reach: they are written in whole blocks.
    pub(crate) fn whole_blocks(&self) -> u64 {
        self.capacity - self.capacity % BLOCK_BYTES as u64
    }

    pub(crate) fn open(disk: &dyn Disk, dir: &Path, slot: u32) -> io::Result<Self> {
        let path = path_of(dir, slot);
        let handle = disk.open(&path, Create::Never)?;
        let capacity = handle.len()?;
        Ok(Self { slot, path, capacity, handle })
    }

    /// Says what the file holds. Not durable before a sync.
    pub(crate) fn write_header(&self, claim: Claim) -> io::Result<()> {
        let mut header = Vec::with_capacity(FRAMES_AT as usize);
        header.extend_from_slice(MAGIC);
        header.put_u32(0);
        header.put_u32(VERSION);
        header.put_u64(claim.first_frame);
        header.put_u64(claim.generation);
        let checksum = crc32c::crc32c(&header[12..]);
        header[8..12].copy_from_slice(&checksum.to_le_bytes());
        // A recycled file must not name what came after it in its earlier life.
        header.resize(NEXT_AT + NEXT_BYTES, 0);
        self.handle.write_at(&header, 0)
    }

    /// Says that the frames from `frame` on are in another file, so that its loss is noticed. Not durable before a sync.
    pub(crate) fn write_next(&self, frame: u64) -> io::Result<()> {
        let mut next = Vec::with_capacity(NEXT_BYTES);
        next.extend_from_slice(NEXT_MAGIC);
        next.put_u32(crc32c::crc32c(&frame.to_le_bytes()));
        next.put_u64(frame);
        self.handle.write_at(&next, NEXT_AT as u64)
    }

    /// The frame with which the next file begins; `None` for the file that was written last.
    pub(crate) fn next_frame(&self) -> io::Result<Option<u64>> {
        let mut next = [0u8; NEXT_BYTES];
        self.handle.read_at(&mut next, NEXT_AT as u64)?;
        Ok(parse_next(&next))
    }

    /// What the header says; `None` if it is not (yet) sound: such a file holds nothing.
    pub(crate) fn claim(&self) -> io::Result<Option<Claim>> {
        let mut header = [0u8; HEADER_BYTES];
        if self.handle.read_at(&mut header, 0)? < header.len() {
            return Ok(None);
        }
        Ok(parse_header(&header))
    }
}

fn parse_header(header: &[u8]) -> Option<Claim> {
    let mut take = Take::new(header);
    let sound = take.slice(8).ok()? == MAGIC
        && take.u32().ok()? == crc32c::crc32c(&header[12..])
        && take.u32().ok()? == VERSION;
    sound.then_some(())?;
    Some(Claim { first_frame: take.u64().ok()?, generation: take.u64().ok()? })
}

fn parse_next(next: &[u8]) -> Option<u64> {
    let mut take = Take::new(next);
    let sound = take.slice(8).ok()? == NEXT_MAGIC && take.u32().ok()? == crc32c::crc32c(&next[12..]);
    sound.then(|| take.u64().ok())?
}

fn zero(handle: &dyn DiskFile, capacity: u64) -> io::Result<()> {
    let zeros = vec![0u8; ZEROS.min(capacity as usize)];
    let mut position = 0;
    while position < capacity {
        let length = (capacity - position).min(zeros.len() as u64);
        handle.write_at(&zeros[..length as usize], position)?;
        position += length;
    }
    handle.sync_data()
}
