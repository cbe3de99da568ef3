//! What waits to be committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use prom_store::{Commit, CommitError, CommitReply, CursorChange, CursorName, LogName, PendingCommit};
use prom_types::Offset;

use crate::options::Drive;

/// Beyond this many waiting bytes a commit is refused: publishers should wait for answers.
const MOST_BYTES: usize = 256 << 20;
/// What a waiting commit costs besides its events.
const REQUEST_BYTES: usize = 256;
/// After this long without a new request, the expected callers are not coming now.
const GROWTH_PAUSE: Duration = Duration::from_micros(20);
/// How long to look for the first of several callers before going to sleep: being woken takes as long.
const FIRST_PAUSE: Duration = Duration::from_micros(40);

/// One caller's commit.
pub(crate) struct CommitRequest {
    pub(crate) commit: Commit,
    /// Besides what a commit can hold: taking a cursor over, moving a log's start.
    pub(crate) take: Option<TakeOver>,
    pub(crate) trim: Option<(LogName, Offset)>,
    pub(crate) reply: CommitReply,
}

/// A takeover: the epoch it leads to is noted when the frame is built.
pub(crate) struct TakeOver {
    pub(crate) cursor: CursorName,
    pub(crate) floor_if_new: Offset,
    pub(crate) epoch: Arc<AtomicU64>,
}

pub(crate) struct CommitQueue {
    drive: Drive,
    waiting: Mutex<Waiting>,
    /// How many requests wait, for looking without the lock.
    length: AtomicUsize,
    filled: Condvar,
    /// Whether callers came one at a time lately and a sync was quick. Never without a thread, which a caller that
    /// cannot commit has to wake.
    alone: AtomicBool,
}

/// Who commits a request that was just put into the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum CommitBy {
    /// The thread, which is awake or was woken, or a caller that has taken it on.
    Elsewhere,
    /// The caller may try. If it cannot, it wakes the thread.
    CallerIfFree,
    /// The caller: there is no thread.
    Caller,
}

#[derive(Default)]
struct Waiting {
    requests: Vec<CommitRequest>,
    bytes: usize,
    closed: bool,
}

impl CommitRequest {
    /// About how many bytes it takes in memory and in a frame.
    pub(crate) fn size(&self) -> usize {
        let Commit { appends, cursors, documents, logs, ends, places } = &self.commit;
        let events: usize = appends.iter().map(|append| append.event.len()).sum();
        let changes: usize = cursors.iter().map(|(_, change)| cursor_size(change)).sum();
        let values =
            documents.iter().map(|write| write.key.len() + write.value.as_ref().map_or(0, |value| value.len()));
        let parts = 1 + cursors.len() + documents.len() + logs.len() + ends.len() + places.len();
        REQUEST_BYTES * parts + events + changes + values.sum::<usize>()
    }
}

fn cursor_size(change: &CursorChange) -> usize {
    match change {
        CursorChange::Settle { settled, failures, .. } => {
            let reasons = failures.iter().map(|(_, failure)| 32 + failure.reason.as_ref().map_or(0, String::len));
            settled.len() * 16 + reasons.sum::<usize>()
        }
        _ => 0,
    }
}

impl CommitQueue {
    pub(crate) fn new(drive: Drive) -> Self {
        Self {
            drive,
            waiting: Mutex::default(),
            length: AtomicUsize::new(0),
            filled: Condvar::new(),
            alone: AtomicBool::new(false),
        }
    }

    pub(crate) fn push(&self, commit: Commit) -> (PendingCommit, CommitBy) {
        let (reply, pending) = PendingCommit::new();
        // Settlements can wait for the thread; no caller should block for them.
        let may_try = !commit.appends.is_empty() && self.alone.load(Ordering::Relaxed);
        let is_first = self.put(CommitRequest { commit, take: None, trim: None, reply });
        if is_first && may_try {
            return (pending, CommitBy::CallerIfFree);
        }
        (pending, self.see_to(is_first))
    }

    pub(crate) fn push_request(&self, request: CommitRequest) -> CommitBy {
        let is_first = self.put(request);
        self.see_to(is_first)
    }

    /// The first request decides who commits; those behind it go along.
    fn see_to(&self, is_first: bool) -> CommitBy {
        match self.drive {
            Drive::Threads if is_first => self.wake(),
            Drive::Inline if is_first => return CommitBy::Caller,
            Drive::Threads | Drive::Inline => {}
        }
        CommitBy::Elsewhere
    }

    /// There is something for the thread to do.
    pub(crate) fn wake(&self) {
        self.filled.notify_one();
    }

    /// Whether the next caller, if alone, may commit by itself.
    pub(crate) fn set_alone(&self, alone: bool) {
        self.alone.store(alone, Ordering::Relaxed);
    }

    /// True if nothing waited before.
    fn put(&self, request: CommitRequest) -> bool {
        let size = request.size();
        let mut waiting = self.waiting.lock();
        let refusal = match (waiting.closed, waiting.bytes + size > MOST_BYTES) {
            (true, _) => Some(CommitError::Closed),
            (_, true) => Some(CommitError::Overloaded),
            _ => None,
        };
        if let Some(refusal) = refusal {
            drop(waiting);
            request.reply.send(Err(refusal));
            return false;
        }
        waiting.bytes += size;
        waiting.requests.push(request);
        self.length.store(waiting.requests.len(), Ordering::Relaxed);
        waiting.requests.len() == 1
    }

    /// Blocks until something waits; `false` when the queue is closed and empty.
    pub(crate) fn wait(&self, expected: usize) -> bool {
        if expected > 1 {
            self.let_in(1, FIRST_PAUSE);
        }
        let mut waiting = self.waiting.lock();
        while waiting.requests.is_empty() {
            if waiting.closed {
                return false;
            }
            self.filled.wait(&mut waiting);
        }
        true
    }

    /// Everything that waits, swapped into `batch` (empty).
    ///
    /// Callers that were just answered are about to ask again, and a sync costs the same for one as for all.
    /// So with `expected` callers coming back, this waits for their requests, for `patience` at most
    /// and only while they keep coming. A lone caller never waits here.
    pub(crate) fn take(&self, batch: &mut Vec<CommitRequest>, expected: usize, patience: Duration) {
        let mut waiting = self.waiting.lock();
        if waiting.requests.len() < expected && !waiting.closed {
            drop(waiting);
            self.let_in(expected, patience);
            waiting = self.waiting.lock();
        }
        std::mem::swap(&mut waiting.requests, batch);
        waiting.bytes = 0;
        self.length.store(0, Ordering::Relaxed);
    }

    /// Watches the queue grow without touching its lock, which the callers need.
    fn let_in(&self, expected: usize, patience: Duration) {
        let began = Instant::now();
        let (mut seen, mut last_grown) = (0, Duration::ZERO);
        loop {
            let length = self.length.load(Ordering::Relaxed);
            let now = began.elapsed();
            if length > seen {
                (seen, last_grown) = (length, now);
            }
            let stalled = seen > 0 && now - last_grown >= GROWTH_PAUSE;
            if length >= expected || now >= patience || stalled {
                return;
            }
            std::hint::spin_loop();
        }
    }

    /// Closes the queue and refuses everything that waits.
    pub(crate) fn abandon(&self) {
        self.close();
        let waiting = std::mem::take(&mut self.waiting.lock().requests);
        for request in waiting {
            request.reply.send(Err(CommitError::Closed));
        }
    }

    /// No more requests; what waits is still taken.
    pub(crate) fn is_closed(&self) -> bool {
        self.waiting.lock().closed
    }

    pub(crate) fn close(&self) {
        self.waiting.lock().closed = true;
        self.filled.notify_all();
    }
}
