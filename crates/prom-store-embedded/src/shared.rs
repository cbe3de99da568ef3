//! What the threads of one store share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex, RwLock};
use prom_store::{Damage, LogName};

use crate::background::BackgroundWorker;
use crate::commit::CommitQueue;
use crate::cursors::EmbeddedCursors;
use crate::documents::DocumentState;
use crate::journal::writer::Files;
use crate::log::buffers::Buffers;
use crate::log::{Log, LogState};
use crate::options::EmbeddedOptions;
use crate::segment::{OpenFiles, Segment};

/// How many damaged places are remembered. Beyond that it is the disk that is damaged; fsck lists them all.
const MOST_DAMAGE: usize = 1_000;

pub(crate) struct StoreShared {
    pub(crate) root: PathBuf,
    pub(crate) options: EmbeddedOptions,
    pub(crate) queue: CommitQueue,
    pub(crate) journal: Arc<Files>,
    pub(crate) state: DocumentState,
    pub(crate) cursors: EmbeddedCursors,
    pub(crate) files: OpenFiles,
    pub(crate) buffers: Buffers,
    pub(crate) logs: RwLock<HashMap<LogName, Arc<Log>>>,
    /// Held while a durable frame is applied, and while a checkpoint takes its cut.
    pub(crate) applied: Mutex<Applied>,
    pub(crate) background: Background,
    pub(crate) health: Mutex<StoreHealth>,
    /// What was found bad when the store was opened, and by reads since.
    pub(crate) damage: Mutex<Vec<Damage>>,
    /// Frames at the journal's end that were not whole when the store was opened.
    pub(crate) cut_frames: AtomicU64,
    /// One compaction at a time.
    pub(crate) compacting: Mutex<()>,
}

/// How far memory has come.
#[derive(Default)]
pub(crate) struct Applied {
    pub(crate) frame: u64,
    /// Segments that nothing refers to any more; their files go after the next checkpoint.
    pub(crate) dropped: Vec<Arc<Segment>>,
}

/// Why new events are refused, if they are.
#[derive(Default)]
pub(crate) struct StoreHealth {
    /// Files behind the journal cannot be written; tried again from time to time.
    pub(crate) full: Option<String>,
    /// Files behind the journal are in doubt; the journal has it all, and a restart applies it again.
    pub(crate) broken: Option<String>,
}

/// What the worker behind the journal has to do, and what wakes its thread.
#[derive(Default)]
pub(crate) struct Background {
    /// The worker itself, where callers drive it. It holds what is shared, so closing takes it out.
    inline: Mutex<Option<BackgroundWorker>>,
    work: Mutex<BackgroundWork>,
    passes: Mutex<Passes>,
    wake: Condvar,
    done: Condvar,
    /// Bytes of events that are in memory only (and in the journal).
    unfilled: AtomicU64,
    filled: Condvar,
    prepare_requested: AtomicBool,
}

/// Passes of the background thread, numbered as they begin.
#[derive(Default)]
struct Passes {
    begun: u64,
    done: u64,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BackgroundWork {
    pub(crate) fill: bool,
    pub(crate) checkpoint: bool,
    pub(crate) prepare_journal: bool,
    pub(crate) stop: bool,
}

impl StoreShared {
    /// The log of this name; made in memory where there is none. Durable with its first event.
    pub(crate) fn log(&self, name: &LogName) -> Arc<Log> {
        if let Some(log) = self.logs.read().get(name) {
            return log.clone();
        }
        let fresh = || Arc::new(Log::new(name.clone(), LogState::default()));
        self.logs.write().entry(name.clone()).or_insert_with(fresh).clone()
    }

    pub(crate) fn known_log(&self, name: &LogName) -> Option<Arc<Log>> {
        self.logs.read().get(name).cloned()
    }

    /// Keeps and logs damage that is not known yet.
    pub(crate) fn note_damage(&self, damage: &Damage) {
        let mut known = self.damage.lock();
        let is_known = known.iter().any(|one| (&one.file, one.position) == (&damage.file, damage.position));
        if !is_known && known.len() < MOST_DAMAGE {
            tracing::error!(%damage, "the data directory is damaged");
            known.push(damage.clone());
        }
    }

    pub(crate) fn interval(&self) -> u64 {
        self.options.sizes.index_interval
    }

    pub(crate) fn segments_dir(&self, log: u32) -> PathBuf {
        segments_dir(&self.root, log)
    }
}

pub(crate) fn segments_dir(root: &std::path::Path, log: u32) -> PathBuf {
    root.join("segments").join(log.to_string())
}

/// Held by the journal's thread. However that ends, no caller waits for it forever.
pub(crate) struct QueueGuard(pub(crate) Arc<StoreShared>);

impl Drop for QueueGuard {
    fn drop(&mut self) {
        self.0.queue.abandon();
    }
}

/// Held by the background thread. If that ends by a panic, new events are refused with the reason.
pub(crate) struct BackgroundGuard(pub(crate) Arc<StoreShared>);

impl Drop for BackgroundGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.health.lock().broken = Some("the thread behind the journal panicked; reopen the store".to_owned());
        }
        self.0.background.abandon();
    }
}

impl Background {
    pub(crate) fn request(&self, change: impl FnOnce(&mut BackgroundWork)) {
        change(&mut self.work.lock());
        self.wake.notify_one();
    }

    /// Asks for the next journal file, unless that was asked for already.
    pub(crate) fn request_once_prepare(&self) {
        if !self.prepare_requested.swap(true, Ordering::Relaxed) {
            self.request(|work| work.prepare_journal = true);
        }
    }

    /// The next journal file waits, or a new one was begun.
    pub(crate) fn prepared(&self) {
        self.prepare_requested.store(false, Ordering::Relaxed);
    }

    /// Waits for work, or until `timeout` has passed.
    pub(crate) fn wait(&self, timeout: Option<std::time::Duration>) -> BackgroundWork {
        let mut work = self.work.lock();
        if *work == BackgroundWork::default() {
            match timeout {
                Some(timeout) => {
                    self.wake.wait_for(&mut work, timeout);
                }
                None => self.wake.wait(&mut work),
            }
        }
        let stop = work.stop;
        self.passes.lock().begun += 1;
        std::mem::replace(&mut *work, BackgroundWork { stop, ..BackgroundWork::default() })
    }

    /// The pass that `wait` began is over.
    pub(crate) fn pass_done(&self) {
        let mut passes = self.passes.lock();
        passes.done = passes.begun;
        self.done.notify_all();
    }

    /// From here on callers drive the worker; see [`Background::catch_up`].
    pub(crate) fn drive_inline(&self, worker: BackgroundWorker) {
        *self.inline.lock() = Some(worker);
    }

    /// Ends the worker that callers drive, after a last checkpoint.
    pub(crate) fn stop_inline(&self) {
        if let Some(mut worker) = self.inline.lock().take() {
            worker.pass(BackgroundWork { stop: true, ..BackgroundWork::default() });
            // A caller on another thread may have asked in the meantime: no pass comes for it.
            self.abandon();
        }
    }

    /// Does what was asked for, on this thread. Does nothing where the worker has a thread.
    pub(crate) fn catch_up(&self) {
        let mut inline = self.inline.lock();
        let Some(worker) = &mut *inline else {
            return;
        };
        loop {
            let work = std::mem::take(&mut *self.work.lock());
            worker.pass(work);
            // A pass may ask for another; one that failed is tried again by the next caller.
            if *self.work.lock() == BackgroundWork::default() {
                return;
            }
        }
    }

    /// Asks for work and waits until a pass that began afterwards is over.
    pub(crate) fn request_and_wait(&self, change: impl FnOnce(&mut BackgroundWork)) {
        let pass = {
            let mut work = self.work.lock();
            change(&mut work);
            self.passes.lock().begun + 1
        };
        if self.inline.lock().is_some() {
            return self.catch_up();
        }
        self.wake.notify_one();
        let mut passes = self.passes.lock();
        while passes.done < pass {
            self.done.wait(&mut passes);
        }
    }

    /// The worker has ended: callers that wait for it go on.
    pub(crate) fn abandon(&self) {
        let mut passes = self.passes.lock();
        passes.done = u64::MAX;
        self.done.notify_all();
        drop(passes);
        self.wake_waiting();
    }

    pub(crate) fn add_unfilled(&self, bytes: u64) -> u64 {
        self.unfilled.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    pub(crate) fn set_unfilled(&self, bytes: u64) {
        // Under the lock, so that a caller that has just seen the old figure does not miss the wake-up.
        let _work = self.work.lock();
        self.unfilled.store(bytes, Ordering::Relaxed);
        self.filled.notify_all();
    }

    /// Callers that wait for room look again.
    pub(crate) fn wake_waiting(&self) {
        self.filled.notify_all();
    }

    pub(crate) fn unfilled(&self) -> u64 {
        self.unfilled.load(Ordering::Relaxed)
    }

    /// Asks the filler to make room and waits a moment, unless there is room already.
    pub(crate) fn wait_for_room(&self, most: u64) {
        let mut work = self.work.lock();
        if self.unfilled() > most {
            work.fill = true;
            self.wake.notify_one();
            self.filled.wait_for(&mut work, std::time::Duration::from_millis(50));
        }
    }
}

impl StoreHealth {
    pub(crate) fn reason(&self) -> Option<&String> {
        self.broken.as_ref().or(self.full.as_ref())
    }
}
