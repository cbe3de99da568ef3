//! What waits to be committed.

use parking_lot::{Condvar, Mutex};
use prom_store::{Commit, CommitError, CursorName, LogName, PendingCommit, Reply};
use prom_types::Offset;

/// Beyond this many waiting bytes a commit is refused: whoever publishes should wait for answers.
const MOST_BYTES: usize = 256 << 20;
/// What a waiting commit costs besides its events.
const REQUEST_BYTES: usize = 256;

/// One caller's wish.
pub(crate) struct Request {
    pub(crate) commit: Commit,
    /// Besides what a commit can hold: taking a cursor over, moving a log's start.
    pub(crate) take: Option<(CursorName, Offset)>,
    pub(crate) trim: Option<(LogName, Offset)>,
    pub(crate) reply: Reply,
}

#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    filled: Condvar,
}

#[derive(Default)]
struct Waiting {
    requests: Vec<Request>,
    bytes: usize,
    closed: bool,
}

impl Queue {
    pub(crate) fn push(&self, commit: Commit) -> PendingCommit {
        let (reply, pending) = PendingCommit::new();
        self.push_request(Request {
            commit,
            take: None,
            trim: None,
            reply,
        });
        pending
    }

    pub(crate) fn push_request(&self, request: Request) {
        let size = REQUEST_BYTES
            + request
                .commit
                .appends
                .iter()
                .map(|append| append.event.len())
                .sum::<usize>();
        let mut waiting = self.waiting.lock();
        let refusal = match (waiting.closed, waiting.bytes + size > MOST_BYTES) {
            (true, _) => Some(CommitError::Closed),
            (_, true) => Some(CommitError::Overloaded),
            _ => None,
        };
        if let Some(refusal) = refusal {
            drop(waiting);
            request.reply.send(Err(refusal));
            return;
        }
        waiting.bytes += size;
        waiting.requests.push(request);
        let wake = waiting.requests.len() == 1;
        drop(waiting);
        if wake {
            self.filled.notify_one();
        }
    }

    /// Everything that waits, swapped into `batch` (empty). Blocks until there is something;
    /// `false` when the queue is closed and empty.
    pub(crate) fn take(&self, batch: &mut Vec<Request>) -> bool {
        let mut waiting = self.waiting.lock();
        while waiting.requests.is_empty() {
            if waiting.closed {
                return false;
            }
            self.filled.wait(&mut waiting);
        }
        std::mem::swap(&mut waiting.requests, batch);
        waiting.bytes = 0;
        true
    }

    /// Nobody will take what waits: everybody is told.
    pub(crate) fn abandon(&self) {
        self.close();
        let waiting = std::mem::take(&mut self.waiting.lock().requests);
        for request in waiting {
            request.reply.send(Err(CommitError::Closed));
        }
    }

    /// No more requests; what waits is still taken.
    pub(crate) fn close(&self) {
        self.waiting.lock().closed = true;
        self.filled.notify_all();
    }
}
