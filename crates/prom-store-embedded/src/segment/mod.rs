//! Segments: the events of one log in files, append only, sealed at a size, dropped or rewritten whole.
//!
//! ```text
//!   segments/<log>/<base>-<generation>.seg    header · record · record · …   (prom_store::record)
//!                                     .idx    sparse index: offset, time, position     ┐ caches: made when the
//!                                     .ids    id → offset, sorted by id                ┘ segment is sealed, rebuilt when bad
//!                                     .trimmed, .compacted    ids of removed events, for as long as they may come again
//! ```
//!
//! **Constraints.** Only the filler appends, only to the last segment. What a segment holds beyond the
//! length that the last checkpoint wrote down does not count: after a crash it is written again from
//! the journal, over the same bytes.
//!
//! **Damage.** Every record carries a checksum. A bad one is reported with file and position; reading
//! goes on at the next sound one.

pub(crate) mod append;
pub(crate) mod compact;
pub(crate) mod gone;
pub(crate) mod ids;
pub(crate) mod index;
pub(crate) mod open_files;
pub(crate) mod read;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use prom_store::Damage;
use prom_types::{EpochMs, Offset};

use crate::codec::{Malformed, Put, Take};
pub(crate) use gone::GoneIds;
pub(crate) use index::SparseIndex;
pub(crate) use open_files::OpenFiles;

const MAGIC: &[u8; 8] = b"promsegm";
const VERSION: u32 = 1;
/// Records begin here.
pub(crate) const RECORDS_AT: u64 = 64;

/// One segment. What is known about it is written down at each checkpoint.
pub(crate) struct Segment {
    pub(crate) path: PathBuf,
    pub(crate) base: Offset,
    /// Grows when compaction rewrites the segment.
    pub(crate) generation: u32,
    pub(crate) meta: Mutex<SegmentMeta>,
    /// A rewritten one took its place.
    replaced: AtomicBool,
    /// Loaded or rebuilt when first needed.
    index: Mutex<Option<Arc<SparseIndex>>>,
    ids: Mutex<Option<ids::IdsHeader>>,
}

/// The part of a segment that changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentMeta {
    /// One past the last offset.
    pub(crate) end: Offset,
    /// Bytes of the file that count.
    pub(crate) length: u64,
    pub(crate) events: u64,
    pub(crate) first_ts: EpochMs,
    pub(crate) last_ts: EpochMs,
    pub(crate) sealed: bool,
    /// When compaction first went over it; tombstones in it wait from then on.
    pub(crate) cleaned_at: Option<EpochMs>,
}

impl Segment {
    pub(crate) fn new(dir: &Path, base: Offset, generation: u32) -> Self {
        let meta = SegmentMeta {
            end: base,
            length: RECORDS_AT,
            events: 0,
            first_ts: 0,
            last_ts: 0,
            sealed: false,
            cleaned_at: None,
        };
        Self { index: Mutex::new(Some(Arc::default())), ..Self::known(dir, base, generation, meta) }
    }

    /// A segment that a checkpoint wrote down.
    pub(crate) fn known(dir: &Path, base: Offset, generation: u32, meta: SegmentMeta) -> Self {
        Self {
            path: dir.join(format!("{base:020}-{generation}.seg")),
            base,
            generation,
            meta: Mutex::new(meta),
            replaced: AtomicBool::new(false),
            index: Mutex::new(None),
            ids: Mutex::new(None),
        }
    }

    /// What there is to say if its file is gone.
    pub(crate) fn missing(&self, from: Offset) -> Damage {
        let reason = "the file is missing".to_owned();
        Damage { file: self.path.clone(), position: 0, reason, lost: Some(from..self.end()) }
    }

    /// No more appends, although there is no file to make caches from: what was in it is lost.
    pub(crate) fn abandon(&self) {
        self.meta.lock().sealed = true;
    }

    pub(crate) fn end(&self) -> Offset {
        self.meta.lock().end
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.meta.lock().sealed
    }

    /// Whether an event stored at or after `time` can be in it.
    pub(crate) fn may_hold_since(&self, time: EpochMs) -> bool {
        let meta = self.meta.lock();
        meta.events > 0 && meta.last_ts >= time
    }

    pub(crate) fn is_replaced(&self) -> bool {
        self.replaced.load(Ordering::Relaxed)
    }

    pub(crate) fn mark_replaced(&self) {
        self.replaced.store(true, Ordering::Relaxed);
    }

    pub(crate) fn event_bytes(&self) -> u64 {
        self.meta.lock().length - RECORDS_AT
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        self.path.with_extension("idx")
    }

    pub(crate) fn ids_path(&self) -> PathBuf {
        self.path.with_extension("ids")
    }

    pub(crate) fn header(&self) -> Vec<u8> {
        let mut header = Vec::with_capacity(RECORDS_AT as usize);
        header.extend_from_slice(MAGIC);
        header.put_u32(VERSION);
        header.put_u64(self.base);
        header.put_u32(self.generation);
        let checksum = crc32c::crc32c(&header);
        header.put_u32(checksum);
        header.resize(RECORDS_AT as usize, 0);
        header
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let meta = *self.meta.lock();
        out.put_u64(self.base);
        out.put_u32(self.generation);
        out.put_u64(meta.end);
        out.put_u64(meta.length);
        out.put_u64(meta.events);
        out.put_i64(meta.first_ts);
        out.put_i64(meta.last_ts);
        out.put_u8(u8::from(meta.sealed));
        out.put_u8(u8::from(meta.cleaned_at.is_some()));
        out.put_i64(meta.cleaned_at.unwrap_or_default());
    }

    pub(crate) fn take(dir: &Path, take: &mut Take<'_>) -> Result<Self, Malformed> {
        let (base, generation) = (take.u64()?, take.u32()?);
        let mut meta = SegmentMeta {
            end: take.u64()?,
            length: take.u64()?,
            events: take.u64()?,
            first_ts: take.i64()?,
            last_ts: take.i64()?,
            sealed: take.u8()? != 0,
            cleaned_at: None,
        };
        let cleaned = take.u8()? != 0;
        let cleaned_at = take.i64()?;
        meta.cleaned_at = cleaned.then_some(cleaned_at);
        Ok(Self::known(dir, base, generation, meta))
    }
}
