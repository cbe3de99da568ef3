//! Commits: sorted by what they touch, gathered while others are in progress, made durable.
//!
//! ```text
//!   one log        ─▶ its lane: one insert for everything that waits
//!   one cursor     ─▶ its lane: one conditional update
//!   one document   ─▶ its lane: one conditional write
//!   anything more  ─▶ all lanes it touches pause for one transaction
//! ```

mod append;
mod each;
mod insert;
mod lanes;
mod place;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod promises;
mod terms;
mod transaction;

use std::sync::Arc;

use prom_store::{Commit, CommitError, Committed, PendingCommit};

pub use each::commit_each;
pub use insert::take_in_read;
pub use lanes::{CommitLanes, LaneKey, WaitingCommit};
pub use place::ExactPlaces;
pub use transaction::{TransactionError, in_transaction};

use crate::limits::COMMIT_BYTES;
use crate::shared::MongoShared;

pub fn commit(shared: &Arc<MongoShared>, commit: Commit) -> PendingCommit {
    if shared.is_closed() {
        return PendingCommit::known(Err(CommitError::Closed));
    }
    if commit.is_empty() {
        return PendingCommit::known(Ok(Committed::default()));
    }
    let bytes = COMMIT_BYTES + commit.appends.iter().map(|append| append.event.len()).sum::<usize>();
    if !shared.lanes.admit(bytes, shared.options.sizes.waiting_bytes) {
        return PendingCommit::known(Err(CommitError::Overloaded));
    }
    let (reply, pending) = PendingCommit::new();
    let keys = keys_of(&commit);
    lanes::enqueue(shared, keys, shared.lanes.waiting(commit, bytes, reply));
    pending
}

/// Every lane that the commit touches, each once.
fn keys_of(commit: &Commit) -> Vec<LaneKey> {
    // By far the most common: one log, and nothing else.
    if let Some(first) = commit.appends.first()
        && commit.cursors.is_empty()
        && commit.documents.is_empty()
        && commit.logs.is_empty()
        && commit.ends.is_empty()
        && commit.places.is_empty()
        && commit.appends.iter().all(|append| append.log.is_same(&first.log) || append.log == first.log)
    {
        return vec![LaneKey::Log(first.log.clone())];
    }
    let mut keys: Vec<LaneKey> = commit.appends.iter().map(|append| LaneKey::Log(append.log.clone())).collect();
    keys.extend(commit.logs.iter().map(|(log, _)| LaneKey::Log(log.clone())));
    keys.extend(commit.ends.iter().cloned().map(LaneKey::Log));
    keys.extend(commit.places.iter().map(|(log, _)| LaneKey::Log(log.clone())));
    keys.extend(commit.cursors.iter().map(|(cursor, _)| LaneKey::Cursor(cursor.clone())));
    let document = |write: &prom_store::DocumentWrite| (write.collection.clone(), write.key.clone());
    keys.extend(commit.documents.iter().map(document).map(|(collection, key)| LaneKey::Document(collection, key)));
    keys.sort_unstable();
    keys.dedup();
    keys
}
