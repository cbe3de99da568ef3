//! Merging small old batches: a few large documents cost less to keep and to read than many small ones.

use mongodb::bson::{Bson, doc};
use mongodb::error::Error;
use mongodb::options::ReadConcern;
use prom_store::{LogName, StoreError};
use prom_types::Offset;

use crate::codec::{BatchHead, BatchPlan, StoredBatch};
use crate::fault::{explain, unreadable};
use crate::limits::MERGE_PAGES;
use crate::queries;
use crate::read::fetch;
use crate::remove::{Ages, heads_from};
use crate::shared::MongoShared;

/// Merges the batches between `from` and the first one that is too young. Returns how far it came.
pub async fn merge(
    shared: &MongoShared,
    name: &LogName,
    from: Offset,
    start: Offset,
    ages: Ages,
) -> Result<Offset, StoreError> {
    let mut upto = from;
    for _ in 0..MERGE_PAGES {
        let heads = heads_from(shared, name, upto).await?;
        let mut old = heads.as_slice();
        old = &old[..old.iter().take_while(|head| ages.is_old(head)).count()];
        let begin = upto;
        // Either nothing more fits, or the run is so large that waiting for more would not help.
        while let run = run(shared, old)
            && let Some(last) = run.last()
            && (run.len() < old.len() || is_full(shared, run))
        {
            if run.len() > 1 {
                merge_run(shared, name, run, start).await?;
            }
            upto = last.next;
            old = &old[run.len()..];
        }
        if upto == begin || shared.is_closed() {
            break;
        }
    }
    Ok(upto)
}

/// The batches at the beginning that fit into one.
fn run<'a>(shared: &MongoShared, heads: &'a [BatchHead]) -> &'a [BatchHead] {
    let sizes = &shared.options.sizes;
    let (mut events, mut bytes) = (0, 0);
    let fits = |head: &&BatchHead| {
        events += head.count;
        bytes += head.bytes;
        events <= sizes.batch_events as u64 && bytes <= sizes.batch_bytes as u64
    };
    let length = heads.iter().take_while(fits).count().max(1).min(heads.len());
    &heads[..length]
}

fn is_full(shared: &MongoShared, run: &[BatchHead]) -> bool {
    let sizes = &shared.options.sizes;
    let events: u64 = run.iter().map(|head| head.count).sum();
    let bytes: u64 = run.iter().map(|head| head.bytes).sum();
    events * 2 >= sizes.batch_events as u64 || bytes * 2 >= sizes.batch_bytes as u64
}

/// Replaces several batches by one, in one transaction: readers see either the old ones or the new one.
async fn merge_run(shared: &MongoShared, name: &LogName, run: &[BatchHead], start: Offset) -> Result<(), StoreError> {
    let (Some(first), Some(last)) = (run.first(), run.last()) else {
        return Ok(());
    };
    let batches = fetch_run(shared, name, first.base, last.next).await?;
    let is_as_seen = batches.iter().map(|batch| batch.head).eq(run.iter().copied());
    if !is_as_seen {
        return Ok(());
    }
    let records: Vec<_> = batches.iter().flat_map(|batch| batch.records.iter().cloned()).collect();
    let cleaned: Vec<_> = batches.iter().flat_map(|batch| batch.cleaned.iter().copied()).collect();
    let plan = BatchPlan {
        log: name,
        base: first.base,
        next: last.next,
        records: &records,
        cleaned: &cleaned,
        last_ts: last.last_ts,
        total: last.total,
        start,
        by: last.by,
        attempt: last.attempt,
        at: Some(last.at),
        end: false,
    };
    let document = plan.document().map_err(|_| unreadable(format!("a batch of {name}")))?;
    let merged = async {
        let mut session = shared.client.start_session().await?;
        session.start_transaction().read_concern(ReadConcern::snapshot()).await?;
        let batches = &shared.collections.batches;
        let gone: Vec<Bson> = run[1..].iter().map(|head| queries::batch_key(name, head.base).into()).collect();
        let deleted = batches.delete_many(doc! { "_id": { "$in": gone } }).session(&mut session).await?;
        let filter = queries::own_batch(name, first.base, first.by, first.attempt);
        let replaced = batches.replace_one(filter, &document).session(&mut session).await?;
        if deleted.deleted_count as usize == run.len() - 1 && replaced.matched_count == 1 {
            session.commit_transaction().await
        } else {
            session.abort_transaction().await
        }
    };
    shared.call(merged).await.map_err(|error: Error| explain(&error))
}

async fn fetch_run(
    shared: &MongoShared,
    name: &LogName,
    from: Offset,
    to: Offset,
) -> Result<Vec<StoredBatch>, StoreError> {
    let mut batches = Vec::new();
    let mut at = from;
    while at < to {
        let fetched = fetch(shared, name, at, shared.options.sizes.read_batches).await?;
        if fetched.first().is_none_or(|first| first.head.base != at) {
            break;
        }
        for batch in fetched.into_iter().take_while(|batch| batch.head.base < to) {
            at = batch.head.next;
            batches.push(batch);
        }
    }
    Ok(batches)
}
