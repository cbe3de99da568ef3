//! What a hub knows about one log: its bounds, the ids of its window, who waits for it.
//!
//! Promises: bounds only grow; whoever watches is told after the batch can be read; the window is complete up
//! to the head or is not there.

mod cache;
mod load;
mod window;

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use prom_store::{Append, Bounds, Dedupe, HeadWatch, LogInfo, LogName, LogOptions, Record};
use prom_types::EpochMs;
use tokio::sync::watch;

use crate::boot_clock::boot_time;
use crate::codec::BatchHead;
pub use cache::{Cache, CachedBatch};
pub use load::{ensure_loaded, fill_window, reload};
pub use window::{IdWindow, Place, is_within};

pub struct LogState {
    pub name: LogName,
    /// One load at a time.
    loading: tokio::sync::Mutex<()>,
    inner: Mutex<Known>,
}

#[derive(Default)]
pub struct Known {
    loaded: bool,
    pub bounds: Bounds,
    pub options: LogOptions,
    pub last_stored_ts: EpochMs,
    /// Bytes ever appended, and those of them that retention and compaction took away.
    pub total: u64,
    pub removed: u64,
    /// It has a document in `logs`.
    pub is_made: bool,
    /// Boot time before which nothing was appended at `bounds.next`.
    pub viewed_at: Duration,
    pub window: Option<IdWindow>,
    /// Everything before is in `latest`.
    pub latest_upto: u64,
    pub filling_latest: bool,
    /// The newest batch that the stream brought before the log was loaded.
    early: Option<BatchHead>,
    watchers: Option<watch::Sender<Bounds>>,
}

impl LogState {
    pub fn new(name: LogName) -> Self {
        Self { name, loading: tokio::sync::Mutex::default(), inner: Mutex::default() }
    }

    pub fn lock(&self) -> MutexGuard<'_, Known> {
        self.inner.lock()
    }

    pub fn bounds(&self) -> Bounds {
        self.lock().bounds
    }

    pub fn is_loaded(&self) -> bool {
        self.lock().loaded
    }

    pub fn watch(&self) -> HeadWatch {
        let mut known = self.lock();
        let bounds = known.bounds;
        let sender = known.watchers.get_or_insert_with(|| watch::Sender::new(bounds));
        HeadWatch::new(sender.subscribe())
    }

    /// Whoever watches learns that nothing comes any more.
    pub fn end_watches(&self) {
        self.lock().watchers = None;
    }

    pub fn info(&self) -> LogInfo {
        let known = self.lock();
        LogInfo {
            log: self.name.clone(),
            options: known.options,
            bounds: known.bounds,
            bytes: if known.bounds.start == known.bounds.next { 0 } else { known.total.saturating_sub(known.removed) },
            last_stored_ts: known.last_stored_ts,
        }
    }
}

impl Known {
    /// Whether the head is known well enough to append after it.
    pub fn is_view_younger_than(&self, age: Duration) -> bool {
        self.loaded && boot_time().saturating_sub(self.viewed_at) < age
    }

    /// Whether everything that these appends ask about earlier events can be answered.
    pub fn can_tell_duplicates<'a>(&self, mut appends: impl Iterator<Item = &'a Append>) -> bool {
        self.window.as_ref().is_some_and(IdWindow::is_complete) || appends.all(|append| append.dedupe == Dedupe::Fresh)
    }

    /// Takes in a batch that is durable. `records` are those of the whole batch.
    pub fn observe(&mut self, head: &BatchHead, records: &[Record]) -> Seen {
        if !self.loaded {
            if self.early.is_none_or(|early| early.next < head.next) {
                self.early = Some(*head);
            }
            return Seen::Before;
        }
        if head.base < self.bounds.next {
            return Seen::Before;
        }
        let seen = match head.base == self.bounds.next {
            true => Seen::Next,
            false => Seen::Beyond,
        };
        match (&mut self.window, seen) {
            (Some(window), Seen::Next) => {
                window.forget_before_window(head.last_ts);
                for record in records {
                    let place = Place { offset: record.offset(), stored_ts: record.stored_ts() };
                    window.remember(record.id(), place);
                }
            }
            _ => self.window = None,
        }
        self.move_to(head);
        seen
    }

    fn move_to(&mut self, head: &BatchHead) {
        self.bounds.next = self.bounds.next.max(head.next);
        self.last_stored_ts = self.last_stored_ts.max(head.last_ts);
        self.total = self.total.max(head.total);
        self.tell();
    }

    /// Retention moved the start, here or elsewhere.
    pub fn start_at(&mut self, start: u64, removed: u64) {
        self.bounds.start = self.bounds.start.max(start);
        self.bounds.next = self.bounds.next.max(self.bounds.start);
        self.removed = self.removed.max(removed);
        self.tell();
    }

    pub fn set_options(&mut self, options: LogOptions) {
        if options != self.options {
            self.latest_upto = 0;
        }
        self.options = options;
    }

    fn tell(&mut self) {
        let Some(sender) = &self.watchers else {
            return;
        };
        if sender.receiver_count() == 0 {
            self.watchers = None;
            return;
        }
        let bounds = self.bounds;
        sender.send_if_modified(|known| std::mem::replace(known, bounds) != bounds);
    }
}

/// How a batch relates to what was known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It was known.
    Before,
    /// The one after the last.
    Next,
    /// Others lie between.
    Beyond,
}
