//! The store as the engine holds it: `Arc<dyn Store>`, one virtual call per batch.

use async_trait::async_trait;
use prom_types::Durability;

use crate::{Commit, Cursors, Documents, Leases, Logs, PendingCommit, StoreError, StoreMeters};

/// Where events, cursors and documents are kept.
///
/// `commit` is the only way to write. Its future is ready when the commit is as durable as [`Store::durability`] says,
/// or refused. The call itself returns at once, or after one quick write if that serves a lone caller better than
/// waking another thread. Commits that wait together are made durable together. Dropping the future does not withdraw
/// the commit.
///
/// Order: two commits of the same caller, handed over one after the other, get offsets in that order.
#[async_trait]
pub trait Store: Logs + Cursors + Documents + Leases + Send + Sync + 'static {
    fn commit(&self, commit: Commit) -> PendingCommit;

    /// A commit of independent appends that were only handed over together. A store that pays for making several logs
    /// durable at one moment may make each durable separately. If one then fails, the answer is that failure, and says
    /// that the others may be stored.
    fn commit_each(&self, commit: Commit) -> PendingCommit {
        self.commit(commit)
    }

    fn durability(&self) -> Durability;

    /// What the store has measured since it was opened. Cheap; works after closing too.
    fn meters(&self) -> StoreMeters {
        StoreMeters::default()
    }

    /// Why new events are refused right now, if they are: a full disk, a failed journal.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Finishes the work in progress and releases the storage. Later calls answer `Closed`.
    async fn close(&self) -> Result<(), StoreError>;
}
