//! Settings of the embedded store, every size with its reason.

use std::sync::Arc;

use prom_store::{Clock, SystemClock};

use crate::disk::{Disk, RealDisk};

/// How an [`crate::EmbeddedStore`] is opened. The defaults are for production.
#[derive(Clone)]
pub struct EmbeddedOptions {
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    pub sync: Sync,
    pub drive: Drive,
    pub sizes: Sizes,
}

/// When a commit counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sync {
    /// When it is on the disk itself: survives power loss.
    #[default]
    Fsync,
    /// After the write: survives the process, not the machine.
    Os,
}

/// Who does the work of the journal and the work behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drive {
    /// Two threads of the store. Commits are gathered, and reads that miss memory run on tokio's blocking pool.
    #[default]
    Threads,
    /// The caller, before its call returns: no thread is started, no timer runs, and the same calls do the same
    /// in the same order. Blocks the caller on the disk, so it suits tests and tools.
    Inline,
}

/// Sizes in bytes unless the name says otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// The first journal file of a new directory: small, so that starting is quick.
    pub first_journal_file: u64,
    /// Each further one. A checkpoint follows each filled file, so this bounds what opening reads.
    pub journal_file: u64,
    /// All journal files together. Beyond it commits wait for the checkpoint.
    pub journal_total: u64,
    /// Where a segment is sealed and the next begins: what retention drops at a time.
    pub segment: u64,
    /// Also sealed at this many events, which bounds the ids remembered for it.
    pub segment_events: u64,
    /// Distance of entries in a segment's sparse index.
    pub index_interval: u64,
    /// Events not yet in segments, from which on filling starts.
    pub fill_from: u64,
    /// Events not yet in segments, beyond which commits wait.
    pub fill_limit: u64,
    /// Events that are in segments and still kept in memory, for readers near the end.
    pub cache: u64,
    /// Ids remembered for deduplication beyond sealed segments, over all logs.
    pub ids_in_memory: usize,
    /// Segment files kept open.
    pub open_files: usize,
    /// Written segments from which on a checkpoint syncs the whole file system instead of each of them. That waits
    /// for what others write there as well, so it has to be worth it.
    pub sync_whole_from: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            first_journal_file: 4 << 20,
            journal_file: 8 << 20,
            journal_total: 1 << 30,
            segment: 128 << 20,
            segment_events: 500_000,
            index_interval: 64 << 10,
            fill_from: 4 << 20,
            fill_limit: 128 << 20,
            cache: 32 << 20,
            ids_in_memory: 1_500_000,
            open_files: 512,
            sync_whole_from: 256,
        }
    }
}

impl Sizes {
    /// Small files everywhere, so that a test sees rolls, seals and checkpoints within kilobytes.
    pub fn tiny() -> Self {
        Self {
            first_journal_file: 16 << 10,
            journal_file: 32 << 10,
            journal_total: 1 << 20,
            segment: 8 << 10,
            segment_events: 1_000,
            index_interval: 512,
            fill_from: 1 << 10,
            fill_limit: 256 << 10,
            cache: 4 << 10,
            ids_in_memory: 200,
            open_files: 4,
            sync_whole_from: 3,
        }
    }
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            disk: Arc::new(RealDisk),
            clock: Arc::new(SystemClock::new()),
            sync: Sync::default(),
            drive: Drive::default(),
            sizes: Sizes::default(),
        }
    }
}
