//! The store as the engine holds it: `Arc<dyn Store>`, one virtual call per batch.

use async_trait::async_trait;
use prom_types::Durability;

use crate::{Commit, Cursors, Documents, Leases, Logs, PendingCommit, StoreError, StoreMeters};

/// A place where events, cursors and documents are kept.
///
/// `commit` is the only way in. The future it gives is ready when the commit is as durable as
/// [`Store::durability`] says, or has been refused. The call itself returns at once, or after one
/// quick write where that serves a lone caller better than waking somebody. Commits that wait
/// together are made durable together. Dropping the future does not withdraw the commit.
///
/// Order: the appends of two commits handed over one after the other by the same caller get
/// offsets in that order.
#[async_trait]
pub trait Store: Logs + Cursors + Documents + Leases + Send + Sync + 'static {
    fn commit(&self, commit: Commit) -> PendingCommit;

    /// A commit of appends that stand each for itself and were only handed over together. A store that pays for
    /// making several logs durable at one moment may make each durable for itself; if one then fails, the answer
    /// is that failure, and says that the others may be stored.
    fn commit_each(&self, commit: Commit) -> PendingCommit {
        self.commit(commit)
    }

    fn durability(&self) -> Durability;

    /// What the store measured since it was opened. Cheap; also answered after it was closed.
    fn meters(&self) -> StoreMeters {
        StoreMeters::default()
    }

    /// Why new events are refused right now, if they are: a full disk, a journal that failed.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Finishes what is under way and lets go of the storage. Later calls answer `Closed`.
    async fn close(&self) -> Result<(), StoreError>;
}
