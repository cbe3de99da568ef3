//! Removing batches that retention has hidden, once they are old enough by the server's clock.

use std::time::Duration;

use mongodb::bson::{Bson, doc};
use prom_store::{LogName, StoreError};
use prom_types::Offset;

use crate::codec::BatchHead;
use crate::fault::unreadable;
use crate::limits::REMOVED_AT_ONCE;
use crate::shared::MongoShared;
use crate::trim::LogDocument;
use crate::{command, queries};

/// Tells how old batches are.
#[derive(Debug, Clone, Copy)]
pub struct Ages {
    now_s: i64,
    keep: Duration,
}

impl Ages {
    /// By the server's clock, which also stamped the batches.
    pub async fn now(shared: &MongoShared) -> Result<Self, StoreError> {
        let database = &shared.collections.database;
        let hello = shared.read(|| command::run(database.run_command(doc! { "hello": 1 }))).await?;
        let now_ms = hello.get_datetime("localTime").map_or(0, |now| now.timestamp_millis());
        Ok(Self { now_s: now_ms / 1000, keep: shared.options.times.keep_physically })
    }

    /// No hub can still rely on a head from before this batch.
    pub fn is_old(&self, head: &BatchHead) -> bool {
        let age_s = self.now_s.saturating_sub(i64::from(head.at));
        age_s >= i64::try_from(self.keep.as_secs()).unwrap_or(i64::MAX)
    }
}

/// Removes batches that lie entirely before the start. Returns where the first remaining one begins.
pub async fn remove(shared: &MongoShared, name: &LogName, log: &LogDocument, ages: Ages) -> Result<Offset, StoreError> {
    let mut from = log.next;
    // Checking costs a read, and most logs have nothing to remove.
    while from < log.start {
        let heads = heads_from(shared, name, from).await?;
        let is_gone = |head: &&BatchHead| head.next <= log.start && ages.is_old(head);
        let gone: Vec<_> = heads.iter().take_while(is_gone).copied().collect();
        let Some(last) = gone.last().copied() else {
            break;
        };
        note_end(shared, name, &last).await?;
        let keys: Vec<Bson> = gone.iter().map(|head| queries::batch_key(name, head.base).into()).collect();
        let filter = || doc! { "_id": { "$in": keys.clone() } };
        shared.read(|| async { shared.collections.batches.delete_many(filter()).await }).await?;
        from = last.next;
        if gone.len() < heads.len() {
            break;
        }
    }
    forget_latest(shared, name, log).await?;
    Ok(from)
}

/// Retention removed these events, so their text goes from `latest` too. That a key was written stays known while the
/// newest offset of each is kept, unless that is a tombstone.
async fn forget_latest(shared: &MongoShared, name: &LogName, log: &LogDocument) -> Result<(), StoreError> {
    let latest = &shared.collections.latest;
    if !log.options.keeps_latest() {
        let all = || queries::latest_before(name, log.start).filter;
        shared.read(|| async { latest.delete_many(all()).await }).await?;
        return Ok(());
    }
    let outdated = || queries::latest_before(name, log.begun.max(log.latest_from)).filter;
    shared.read(|| async { latest.delete_many(outdated()).await }).await?;
    let tombstones = || queries::latest_tombstones_before(name, log.start).filter;
    shared.read(|| async { latest.delete_many(tombstones()).await }).await?;
    let with_text = || queries::latest_text_before(name, log.start).filter;
    let unset = || doc! { "$unset": { "event": "" } };
    shared.read(|| async { latest.update_many(with_text(), unset()).await }).await?;
    Ok(())
}

/// Before the last batch goes, the log's document records where it ended.
async fn note_end(shared: &MongoShared, name: &LogName, last: &BatchHead) -> Result<(), StoreError> {
    let update = || {
        doc! { "$max": {
            "next": last.next as i64,
            "last_stored_ts": last.last_ts,
            "total": last.total as i64,
        } }
    };
    let noted =
        shared.read(|| async { shared.collections.logs.update_one(queries::log(name).filter, update()).await }).await?;
    if noted.matched_count == 1 {
        Ok(())
    } else {
        // Without it the offsets of what is removed would be given again.
        Err(unreadable(format!("{name} has no document in logs, and nothing of it is removed")))
    }
}

/// Batches in order, without their events.
pub async fn heads_from(shared: &MongoShared, name: &LogName, from: Offset) -> Result<Vec<BatchHead>, StoreError> {
    shared
        .read(async || {
            let query = queries::heads_from(name, from);
            let find = shared.collections.batches.find(query.filter).sort(query.sort).projection(query.projection);
            let mut cursor = find.limit(REMOVED_AT_ONCE).await?;
            let mut heads = Vec::new();
            while cursor.advance().await? {
                heads.push(BatchHead::read(cursor.current()));
            }
            Ok(heads)
        })
        .await?
        .into_iter()
        .map(|head| head.map_err(|_| unreadable(format!("a batch of {name}"))))
        .collect()
}
