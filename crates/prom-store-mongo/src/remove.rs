//! Removing what retention has put out of sight, once it is old enough by the server's clock.

use std::time::Duration;

use mongodb::bson::{Bson, doc};
use prom_store::{LogName, StoreError};
use prom_types::Offset;

use crate::codec::BatchHead;
use crate::queries;
use crate::shared::Shared;
use crate::trim::LogDocument;

/// Batches removed by one command.
const AT_ONCE: i64 = 500;

/// How old batches are.
#[derive(Debug, Clone, Copy)]
pub struct Ages {
    now_s: i64,
    keep: Duration,
}

impl Ages {
    /// By the server's clock, which also stamped the batches.
    pub async fn now(shared: &Shared) -> Result<Self, StoreError> {
        let database = &shared.collections.database;
        let hello = shared.read(|| async { database.run_command(doc! { "hello": 1 }).await }).await?;
        let now_ms = hello.get_datetime("localTime").map_or(0, |now| now.timestamp_millis());
        Ok(Self { now_s: now_ms / 1000, keep: shared.options.times.keep_physically })
    }

    /// Nobody can still go by a head from before this batch.
    pub fn is_old(&self, head: &BatchHead) -> bool {
        let age_s = self.now_s.saturating_sub(i64::from(head.at));
        age_s >= i64::try_from(self.keep.as_secs()).unwrap_or(i64::MAX)
    }
}

/// Removes batches that lie wholly before the start. Says where the first that is left begins.
pub async fn remove(shared: &Shared, name: &LogName, log: &LogDocument, ages: Ages) -> Result<Offset, StoreError> {
    let mut from = log.next;
    // Looking costs reading; most logs have nothing to remove.
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
    let forgotten = || queries::latest_before(name, log.start).filter;
    shared.read(|| async { shared.collections.latest.delete_many(forgotten()).await }).await?;
    Ok(from)
}

/// Before the last batch goes, the log's document says where it ended.
async fn note_end(shared: &Shared, name: &LogName, last: &BatchHead) -> Result<(), StoreError> {
    let update = || {
        doc! { "$max": {
            "next": last.next as i64,
            "last_stored_ts": last.last_ts,
            "total": last.total as i64,
        } }
    };
    shared.read(|| async { shared.collections.logs.update_one(queries::log(name).filter, update()).await }).await?;
    Ok(())
}

/// Batches in order, without their events.
pub async fn heads_from(shared: &Shared, name: &LogName, from: Offset) -> Result<Vec<BatchHead>, StoreError> {
    shared
        .read(async || {
            let query = queries::heads_from(name, from);
            let find = shared.collections.batches.find(query.filter).sort(query.sort).projection(query.projection);
            let mut cursor = find.limit(AT_ONCE).await?;
            let mut heads = Vec::new();
            while cursor.advance().await? {
                heads.extend(BatchHead::read(cursor.current()).ok());
            }
            Ok(heads)
        })
        .await
}
