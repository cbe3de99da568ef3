//! The work behind the journal: filling segments, checkpoints, preparing journal files, removing what is
//! no longer needed. It has a thread of its own, unless the callers drive the store.

mod checkpoint;
mod fill;
pub(crate) mod manifest;
pub(crate) mod name;
mod remove;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prom_store::StoreError;

use crate::disk::{DiskFile, WholeDisk};
use crate::log::Log;
use crate::segment::Segment;
use crate::shared::{BackgroundWork, StoreShared};

/// While something behind the journal cannot be written, how long until it is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Segments by path, with their log's number.
type Unsynced = HashMap<PathBuf, (Arc<Segment>, u32)>;

pub(crate) struct BackgroundWorker {
    shared: Arc<StoreShared>,
    /// Segments written to since the last checkpoint.
    unsynced: Unsynced,
    unsynced_names: Vec<Arc<dyn DiskFile>>,
    /// Files that the next checkpoint no longer mentions.
    unneeded: Vec<PathBuf>,
    /// All files at once, where that can be done.
    whole: Option<Box<dyn WholeDisk>>,
    /// Chunks that are in segments and in memory, oldest first, with their size.
    cached: VecDeque<(Arc<Log>, u64)>,
    cached_bytes: u64,
    /// The frame of the last checkpoint.
    reached: u64,
}

impl BackgroundWorker {
    pub(crate) fn new(shared: Arc<StoreShared>) -> Self {
        let whole = shared.options.disk.whole(&shared.root);
        Self {
            shared,
            unsynced: Unsynced::new(),
            unsynced_names: Vec::new(),
            unneeded: Vec::new(),
            whole,
            cached: VecDeque::new(),
            cached_bytes: 0,
            reached: 0,
        }
    }

    /// Works until asked to stop; a last checkpoint makes the next start short.
    pub(crate) fn run(mut self) {
        self.look_through_folders();
        loop {
            let timeout = self.shared.health.lock().reason().map(|_| RETRY_AFTER);
            let work = self.shared.background.wait(timeout);
            self.pass(work);
            self.shared.background.pass_done();
            if work.stop {
                return;
            }
        }
    }

    /// Does what was asked for. Trouble is looked at again in every pass.
    pub(crate) fn pass(&mut self, work: BackgroundWork) {
        let trouble = self.shared.health.lock().full.is_some();
        if work.prepare_journal {
            self.attempt("preparing a journal file", Self::prepare_journal);
        }
        // A checkpoint fills segments too.
        if work.checkpoint || work.stop || trouble {
            self.attempt("making a checkpoint", Self::checkpoint).ends_trouble(&self.shared);
        } else if work.fill {
            self.attempt("filling segments", Self::fill).ends_trouble(&self.shared);
        }
    }

    fn prepare_journal(&mut self) -> Result<(), StoreError> {
        let prepared = self.shared.journal.prepare();
        self.shared.background.prepared();
        prepared.map_err(crate::fault::io("preparing a journal file in", &self.shared.root))
    }

    /// Trouble behind the journal loses nothing, but new events are refused until it is over.
    fn attempt(&mut self, doing: &str, act: impl FnOnce(&mut Self) -> Result<(), StoreError>) -> Attempt {
        let outcome = act(self);
        if let Err(error) = &outcome {
            let reason = format!("{doing}: {error}");
            tracing::error!(reason, "storage behind the journal is in trouble");
            self.shared.health.lock().full = Some(reason);
        }
        self.shared.background.wake_waiting();
        match outcome {
            Ok(()) => Attempt::Succeeded,
            Err(_) => Attempt::Failed,
        }
    }
}

/// How a piece of work went.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Succeeded,
    Failed,
}

impl Attempt {
    /// Files could be written again: new events are accepted.
    fn ends_trouble(self, shared: &StoreShared) {
        if self == Self::Succeeded {
            shared.health.lock().full = None;
        }
    }
}
