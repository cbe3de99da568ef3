//! Independent appends: those of each log go into its lane, without a transaction.

use std::sync::Arc;

use hashbrown::HashMap;
use prom_store::{Commit, CommitError, Committed, LogName, Outcome, PendingCommit, Stored};

use super::commit;
use crate::shared::MongoShared;

/// The appends of one log, and their indexes in the commit.
#[derive(Default)]
struct Part {
    commit: Commit,
    places: Vec<usize>,
}

pub fn commit_each(shared: &Arc<MongoShared>, whole: Commit) -> PendingCommit {
    let is_more = !whole.cursors.is_empty()
        || !whole.documents.is_empty()
        || !whole.logs.is_empty()
        || !whole.ends.is_empty()
        || whole.has_terms();
    let first = whole.appends.first().map(|append| append.log.clone());
    if is_more || first.is_none_or(|first| whole.appends.iter().all(|append| append.log == first)) {
        return commit(shared, whole);
    }
    let count = whole.appends.len();
    let mut parts: HashMap<LogName, Part> = HashMap::new();
    for (place, append) in whole.appends.into_iter().enumerate() {
        let part = parts.entry_ref(&append.log).or_default();
        part.places.push(place);
        part.commit.appends.push(append);
    }
    // All are in their lanes before this returns, so the order of the calls is kept.
    let under_way: Vec<_> = parts.into_values().map(|part| (part.places, commit(shared, part.commit))).collect();
    let (reply, pending) = PendingCommit::new();
    shared.runtime.spawn(async move { reply.send(together(under_way, count).await) });
    pending
}

/// One answer for all: where each was stored, or the first failure.
async fn together(under_way: Vec<(Vec<usize>, PendingCommit)>, count: usize) -> Result<Committed, CommitError> {
    let mut stored = vec![Stored { offset: 0, stored_ts: 0, duplicate: false, elsewhere: None }; count];
    let mut failure = None;
    let mut is_partly_stored = false;
    for (places, pending) in under_way {
        match pending.await {
            Ok(committed) => {
                is_partly_stored = true;
                places.into_iter().zip(committed.stored).for_each(|(place, one)| stored[place] = one);
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match failure {
        None => Ok(Committed { stored: stored.into_iter().collect() }),
        Some(error) if is_partly_stored => {
            Err(CommitError::Failed { reason: error.to_string(), outcome: Outcome::Unknown })
        }
        Some(error) => Err(error),
    }
}
