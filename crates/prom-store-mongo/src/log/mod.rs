//! What a hub knows about one log: its bounds, the ids of its window, its watchers.
//!
//! Promises: bounds only grow; watchers are told only once the batch can be read; the window is complete up to the
//! head or absent.

mod cache;
mod load;
mod window;

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use prom_store::{Append, Bounds, Dedupe, HeadWatch, LogInfo, LogName, LogOptions, Record, StoredAt};
use prom_types::EpochMs;
use tokio::sync::watch;

use crate::boot_clock::boot_time;
use crate::codec::BatchHead;
pub use cache::{BatchCache, CachedBatch};
pub use load::{ensure_loaded, fill_window, reload};
pub use window::{IdWindow, is_within};

pub struct LogHandle {
    pub name: LogName,
    /// Allows one load at a time.
    loading: tokio::sync::Mutex<()>,
    inner: Mutex<LogView>,
}

#[derive(Default)]
pub struct LogView {
    loaded: bool,
    pub bounds: Bounds,
    pub options: LogOptions,
    /// It takes nothing until it begins anew.
    pub ended: bool,
    /// Where it began anew the last time.
    pub begun: u64,
    pub last_stored_ts: EpochMs,
    /// Bytes ever appended, and how many of them retention and compaction removed.
    pub total: u64,
    pub removed: u64,
    /// Whether it has a document in `logs`.
    pub is_made: bool,
    /// Boot time before which nothing was appended at `bounds.next`.
    pub viewed_at: Duration,
    pub window: Option<IdWindow>,
    /// Everything before this offset is in `latest`.
    pub latest_upto: u64,
    /// What `latest` has from before this is outdated.
    pub latest_from: u64,
    pub filling_latest: bool,
    /// The newest batch that arrived by the change stream before the log was loaded.
    early: Option<BatchHead>,
    watchers: Option<watch::Sender<Bounds>>,
}

impl LogHandle {
    pub fn new(name: LogName) -> Self {
        Self { name, loading: tokio::sync::Mutex::default(), inner: Mutex::default() }
    }

    pub fn lock(&self) -> MutexGuard<'_, LogView> {
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

    /// Tells all watchers that nothing more comes.
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

impl LogView {
    /// Whether the view of the head is recent enough to append after it.
    pub fn is_view_younger_than(&self, age: Duration) -> bool {
        self.loaded && boot_time().saturating_sub(self.viewed_at) < age
    }

    /// Whether duplicates of these appends can be detected.
    pub fn can_tell_duplicates<'a>(&self, mut appends: impl Iterator<Item = &'a Append>) -> bool {
        self.window.as_ref().is_some_and(IdWindow::is_complete) || appends.all(|append| append.dedupe == Dedupe::Fresh)
    }

    /// Takes in a durable batch. `records` are all of its records; `now` is the monotonic time.
    pub fn observe(&mut self, head: &BatchHead, records: &[Record], now: Duration) -> Observed {
        if !self.loaded {
            if self.early.is_none_or(|early| early.next < head.next) {
                self.early = Some(*head);
            }
            return Observed::Before;
        }
        if head.base < self.bounds.next {
            return Observed::Before;
        }
        let seen = if head.base == self.bounds.next { Observed::Next } else { Observed::Beyond };
        match (&mut self.window, seen) {
            (Some(window), Observed::Next) => {
                window.forget_before_window(head.last_ts, now);
                for record in records {
                    let place = StoredAt { offset: record.offset(), stored_ts: record.stored_ts() };
                    window.remember(record.id(), place, now);
                }
            }
            _ => self.window = None,
        }
        self.move_to(head);
        seen
    }

    /// What is known of its end, from its document: here or on another hub it ended, or began anew since.
    pub fn begins_at(&mut self, begun: u64, ended: bool) {
        if begun > self.begun {
            (self.begun, self.ended, self.window) = (begun, ended, None);
        } else if begun == self.begun {
            self.ended &= ended;
        }
    }

    fn move_to(&mut self, head: &BatchHead) {
        if head.end {
            self.begins_at(head.next, true);
            self.bounds.start = self.bounds.start.max(head.next);
            self.removed = self.removed.max(head.total);
        } else if head.base >= self.begun {
            self.ended = false;
        }
        self.bounds.next = self.bounds.next.max(head.next);
        self.last_stored_ts = self.last_stored_ts.max(head.last_ts);
        self.total = self.total.max(head.total);
        self.tell();
    }

    /// Retention moved the start, on this hub or another.
    pub fn start_at(&mut self, start: u64, removed: u64) {
        self.bounds.start = self.bounds.start.max(start);
        self.bounds.next = self.bounds.next.max(self.bounds.start);
        self.removed = self.removed.max(removed);
        self.tell();
    }

    /// Whether `latest` has to be filled anew for these options.
    pub fn begins_latest(&self, options: LogOptions) -> bool {
        let keeps_more = options.compacted && !self.options.compacted;
        keeps_more || options.keeps_latest() && !self.options.keeps_latest()
    }

    pub fn set_options(&mut self, options: LogOptions) {
        if self.begins_latest(options) {
            self.latest_upto = 0;
            if !self.options.keeps_latest() {
                self.latest_from = self.latest_from.max(self.bounds.start);
            }
        }
        self.options = options;
    }

    /// What `latest` has from before this does not count.
    pub fn latest_from(&self) -> u64 {
        self.latest_from.max(self.begun)
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

/// How a batch relates to the view of its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observed {
    /// It was known already.
    Before,
    /// It follows the last one.
    Next,
    /// Batches between are missing.
    Beyond,
}
