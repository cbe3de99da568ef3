//! Reading a segment: big blocks, every record checked, damage stepped over and reported.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use prom_store::record::{HEADER_BYTES, RecordFault};
use prom_store::{Damage, ReadLimit, Record, StoreError};
use prom_types::Offset;

use super::{OpenFiles, Segment};
use crate::disk::{Create, DiskFile};
use crate::fault::io;

const BLOCK: usize = 1 << 20;
/// Longer than any record in practice; how far blocks overlap while looking for a sound one.
const OVERLAP: usize = 2 << 20;
/// No record is longer: payload, meta and key are all limited well below this.
const LONGEST_RECORD: usize = 64 << 20;

/// A position, and the record or the fault that lies there.
pub(crate) type ScannedRecord = (u64, Result<Record, RecordFault>);

/// Records of a segment one after the other.
pub(crate) struct SegmentScan {
    file: Arc<dyn DiskFile>,
    path: std::path::PathBuf,
    /// Where the segment ended when the scan began.
    length: u64,
    /// The file turned out to be shorter than that; told once.
    cut_short: Option<u64>,
    end: Offset,
    /// File position of the beginning of `block`.
    block_at: u64,
    block: Bytes,
    block_size: usize,
}

impl SegmentScan {
    pub(crate) fn new(segment: &Segment, files: &OpenFiles, position: u64) -> Result<Self, StoreError> {
        // Length and end belong together: the filler may append while we read.
        let meta = *segment.meta.lock();
        let file = files.get(&segment.path, Create::Never).map_err(io("opening", &segment.path))?;
        Ok(Self {
            file,
            path: segment.path.clone(),
            length: meta.length,
            cut_short: None,
            end: meta.end,
            block_at: position,
            block: Bytes::new(),
            block_size: BLOCK,
        })
    }

    fn with_block_size(mut self, bytes: usize) -> Self {
        self.block_size = bytes.clamp(16 << 10, 4 * BLOCK);
        self
    }

    /// The next record and where it lies, or what is wrong there; `None` at the end.
    /// After a fault the scan goes on at the next sound record.
    pub(crate) fn next_record(&mut self) -> Result<Option<ScannedRecord>, StoreError> {
        if self.block_at >= self.length {
            let cut = self.cut_short.take();
            return Ok(cut.map(|position| (position, Err(RecordFault::Short))));
        }
        let mut parsed = Record::parse(&self.block);
        if parsed == Err(RecordFault::Short) {
            self.fill()?;
            parsed = Record::parse(&self.block);
        }
        let at = self.block_at;
        match &parsed {
            Ok(record) => self.advance(record.len()),
            Err(_) => self.skip_faulty()?,
        }
        Ok(Some((at, parsed)))
    }

    fn seek(&mut self, position: u64) {
        self.block_at = position;
        self.block = Bytes::new();
    }

    fn advance(&mut self, by: usize) {
        let _consumed = self.block.split_to(by);
        self.block_at += by as u64;
    }

    /// Goes on at the next place where a sound record lies, byte by byte: a bad length is no guide.
    fn skip_faulty(&mut self) -> Result<(), StoreError> {
        loop {
            let sound = |at: &usize| Record::parse(&self.block.slice(*at..)).is_ok();
            if let Some(at) = (1..self.block.len().saturating_sub(HEADER_BYTES - 1)).find(sound) {
                self.advance(at);
                return Ok(());
            }
            // A record may begin near the end of this block and reach into the next.
            let step = self.block.len().saturating_sub(OVERLAP).max(1) as u64;
            let reached_end = self.block_at + self.block.len() as u64 >= self.length;
            self.seek(if reached_end { self.length } else { self.block_at + step });
            if reached_end {
                return Ok(());
            }
            self.load(BLOCK + OVERLAP)?;
            if Record::parse(&self.block).is_ok() {
                return Ok(());
            }
        }
    }

    /// Reads on until the block holds at least the record it begins with.
    fn fill(&mut self) -> Result<(), StoreError> {
        self.load(self.block_size)?;
        match plausible_length(&self.block) {
            Some(length) if length > self.block.len() => self.load(length),
            _ => Ok(()),
        }
    }

    fn load(&mut self, wanted: usize) -> Result<(), StoreError> {
        let left = usize::try_from(self.length - self.block_at).unwrap_or(usize::MAX);
        let mut buffer = BytesMut::zeroed(wanted.min(left));
        let read = self.file.read_at(&mut buffer, self.block_at).map_err(io("reading", &self.path))?;
        if read < buffer.len() {
            self.length = self.block_at + read as u64;
            self.cut_short = Some(self.length);
        }
        buffer.truncate(read);
        self.block = buffer.freeze();
        Ok(())
    }
}

fn plausible_length(bytes: &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize + prom_store::record::PREFIX_BYTES;
    (HEADER_BYTES..=LONGEST_RECORD).contains(&length).then_some(length)
}

/// What a read of one segment found.
#[derive(Default)]
pub(crate) struct SegmentRead {
    pub(crate) records: Vec<Record>,
    pub(crate) damage: Option<Damage>,
    /// Where to go on; the segment's end when it is exhausted.
    pub(crate) next: Offset,
}

impl Segment {
    /// Records from `from` on, until the limit or the segment's end.
    pub(crate) fn read(
        &self,
        files: &OpenFiles,
        interval: u64,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<SegmentRead, StoreError> {
        let index = self.index(files, interval)?;
        let position = index.position_of(from);
        let room = usize::try_from(interval).unwrap_or(BLOCK).saturating_add(limit.bytes);
        let mut scan = SegmentScan::new(self, files, position)?.with_block_size(room);
        let mut found = SegmentRead { next: from, ..SegmentRead::default() };
        let mut bytes = 0;
        while found.records.len() < limit.events {
            let Some((at, item)) = scan.next_record()? else {
                found.close_damage(scan.end);
                found.next = scan.end;
                break;
            };
            match item {
                Ok(record) if record.offset() < from => {}
                Ok(record) if bytes + record.len() > limit.bytes && !found.records.is_empty() => break,
                Ok(record) => {
                    found.close_damage(record.offset());
                    found.next = record.offset() + 1;
                    bytes += record.len();
                    found.records.push(record);
                }
                // The next read reports the next damage.
                Err(_) if found.has_closed_damage() => break,
                Err(fault) => found.open_damage(self, at, fault),
            }
        }
        Ok(found)
    }
}

impl SegmentRead {
    /// As if all of it had been damaged.
    pub(crate) fn missing(segment: &Segment, from: Offset) -> Self {
        Self { records: Vec::new(), damage: Some(segment.missing(from)), next: segment.end() }
    }

    fn open_damage(&mut self, segment: &Segment, position: u64, fault: RecordFault) {
        let lost = Some(self.next..self.next);
        self.damage.get_or_insert_with(|| Damage {
            file: segment.path.clone(),
            position,
            reason: fault.to_string(),
            lost,
        });
    }

    fn has_closed_damage(&self) -> bool {
        let lost = self.damage.as_ref().and_then(|damage| damage.lost.as_ref());
        lost.is_some_and(|lost| lost.end > lost.start)
    }

    /// The first sound record behind damage tells how many offsets it took.
    fn close_damage(&mut self, until: Offset) {
        if let Some(Damage { lost: Some(lost), .. }) = &mut self.damage
            && lost.end == lost.start
        {
            lost.end = until;
        }
    }
}
