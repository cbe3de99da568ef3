//! Who commits: the journal's thread, or a caller that is alone.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Committer;
use crate::shared::Shared;

/// The journal's thread: commits whatever nobody else does.
pub(crate) struct CommitThread {
    pub(crate) shared: Arc<Shared>,
    pub(crate) committer: Arc<Mutex<Committer>>,
}

impl CommitThread {
    /// Works until the queue is closed and empty, and nobody commits any more.
    pub(crate) fn run(self) {
        let mut expected = 0;
        while self.shared.queue.wait(expected) {
            // Taken from the queue only under the lock, so that a caller's second commit cannot overtake its first.
            expected = self.committer.lock().round();
        }
        let _last_caller_is_done = self.committer.lock();
    }
}

/// Commits what waits on the caller's own thread, if nobody else is at it and nothing but the sync would take time;
/// else wakes the journal's thread.
pub(crate) fn commit_alone(shared: &Shared, committer: &Mutex<Committer>) {
    let free = committer.try_lock().filter(|committer| !committer.may_stall());
    let Some(mut committer) = free else {
        return shared.queue.wake();
    };
    let _told = TellIfPanicking(shared);
    committer.round();
}

/// A round that panics leaves the committer in doubt: nobody may commit after it.
struct TellIfPanicking<'a>(&'a Shared);

impl Drop for TellIfPanicking<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.queue.abandon();
        }
    }
}
