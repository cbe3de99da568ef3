//! Who commits: the journal's thread, a caller that is alone, or every caller where there is no thread.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Committer;
use crate::shared::StoreShared;

/// The journal's thread: commits what no caller does.
pub(crate) struct CommitThread {
    pub(crate) shared: Arc<StoreShared>,
    pub(crate) committer: Arc<Mutex<Committer>>,
}

impl CommitThread {
    /// Works until the queue is closed and empty, and the last caller is done.
    pub(crate) fn run(self) {
        let mut expected = 0;
        while self.shared.queue.wait(expected) {
            // Taken from the queue only under the lock, so that a caller's second commit cannot overtake its first.
            expected = self.committer.lock().round();
        }
        let _last_caller_is_done = self.committer.lock();
    }
}

/// Commits what waits on the caller's own thread, if the committer is free and only the sync would take time;
/// else wakes the journal's thread.
pub(crate) fn commit_if_free(shared: &StoreShared, committer: &Mutex<Committer>) {
    let free = committer.try_lock().filter(|committer| !committer.may_stall());
    let Some(mut committer) = free else {
        return shared.queue.wake();
    };
    let _guard = AbandonIfPanicking(shared);
    committer.round();
}

/// Commits what waits, then does the work behind the journal that the commit made due.
pub(crate) fn commit_inline(shared: &StoreShared, committer: &Mutex<Committer>) {
    let _guard = AbandonIfPanicking(shared);
    committer.lock().round();
    shared.background.catch_up();
}

/// A round that panics leaves the committer in doubt: no commit may follow it.
struct AbandonIfPanicking<'a>(&'a StoreShared);

impl Drop for AbandonIfPanicking<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.queue.abandon();
        }
    }
}
