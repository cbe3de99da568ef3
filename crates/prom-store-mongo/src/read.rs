//! Reading a log: from memory if possible, otherwise whole batches from the database.
//!
//! Batches form a chain: each begins where the one before it ends. A gap means that a merge changed the chain between
//! two answers of the server. It is read again, never skipped.

use std::sync::Arc;

use mongodb::bson::RawDocumentBuf;
use prom_store::{LogName, ReadBatch, ReadLimit, StoreError};
use prom_types::Offset;

use crate::codec::StoredBatch;
use crate::commit::take_in_read;
use crate::fault::unreadable;
use crate::limits::{CHAIN_READS, HOLDER_READS};
use crate::log::{CachedBatch, LogHandle, ensure_loaded, reload};
use crate::queries::{self, IndexedQuery};
use crate::shared::{MongoShared, RetryPause};
use crate::trim::head_before;

pub async fn read(
    shared: &Arc<MongoShared>,
    name: &LogName,
    from: Offset,
    limit: ReadLimit,
) -> Result<ReadBatch, StoreError> {
    shared.check_open()?;
    let log = shared.log(name);
    ensure_loaded(shared, &log).await?;
    let mut pause = RetryPause::default();
    for _ in 0..CHAIN_READS {
        let bounds = log.bounds();
        let from = from.max(bounds.start);
        if from >= bounds.next {
            return Ok(ReadBatch { next: bounds.next, bounds, ..ReadBatch::default() });
        }
        let found = gather(shared, &log, from, limit);
        if found.next > from {
            return Ok(found);
        }
        if !load_from(shared, &log, from).await? {
            pause.wait().await;
            reload(shared, &log).await?;
        }
    }
    Err(unreadable(format!("{name} has no batch with offset {from}, and ends only at {}", log.bounds().next)))
}

/// The records in memory from `from` on, up to the first gap.
fn gather(shared: &MongoShared, log: &LogHandle, from: Offset, limit: ReadLimit) -> ReadBatch {
    let bounds = log.bounds();
    let mut found = ReadBatch { next: from, bounds, ..ReadBatch::default() };
    let mut bytes = 0;
    while let Some(batch) = shared.cache.get(&log.name, found.next) {
        let first = batch.records.partition_point(|record| record.offset() < found.next);
        for record in &batch.records[first..] {
            bytes += record.len();
            let full = found.records.len() >= limit.events || bytes > limit.bytes;
            if full && !found.records.is_empty() {
                found.next = record.offset();
                return found;
            }
            found.records.push(record.clone());
        }
        found.next = batch.next;
    }
    // More may have arrived meanwhile: the bounds match what is returned.
    found.bounds.next = found.bounds.next.max(found.next);
    found
}

/// Brings the batch that holds `from`, and some after it, into memory. `false`: the chain must be read again.
async fn load_from(shared: &MongoShared, log: &LogHandle, from: Offset) -> Result<bool, StoreError> {
    let mut batches = fetch(shared, &log.name, from, shared.options.sizes.read_batches).await?;
    let begins_here = batches.first().is_some_and(|first| first.head.base == from);
    if !begins_here || !is_end_of_known(shared, log, from) {
        match holder_of(shared, &log.name, from).await? {
            Some(holder) => {
                let chain = holder.head.next;
                batches.retain(|batch| batch.head.base >= chain);
                batches.insert(0, holder);
            }
            None if begins_here => {}
            None => return Ok(false),
        }
    }
    let mut expected = batches.first().map_or(from, |first| first.head.base);
    for batch in batches {
        if batch.head.base != expected {
            break;
        }
        expected = batch.head.next;
        if batch.head.base >= log.bounds().next {
            take_in_read(shared, log, batch)
        } else {
            let StoredBatch { head, records, .. } = batch;
            shared.cache.put(&log.name, CachedBatch { base: head.base, next: head.next, records });
        }
    }
    Ok(expected > from)
}

/// Whether the batch before is in memory and ends at `from`.
fn is_end_of_known(shared: &MongoShared, log: &LogHandle, from: Offset) -> bool {
    from == 0 || shared.cache.get(&log.name, from - 1).is_some_and(|before| before.next == from)
}

/// The batch that begins before `from` and ends after it. A batch inside its range, even one that begins at `from`, is
/// one that a hub will withdraw: it does not count.
async fn holder_of(shared: &MongoShared, log: &LogName, from: Offset) -> Result<Option<StoredBatch>, StoreError> {
    let mut before = from;
    for _ in 0..HOLDER_READS {
        let Some(head) = head_before(shared, log, before).await? else { break };
        if head.next > from {
            let holder = fetch(shared, log, head.base, 1).await?.into_iter().next();
            return Ok(holder.filter(|holder| holder.head.base == head.base && holder.head.next > from));
        }
        before = head.base;
    }
    Ok(None)
}

/// Batches that begin at or after `from`.
pub async fn fetch(
    shared: &MongoShared,
    log: &LogName,
    from: Offset,
    most: i64,
) -> Result<Vec<StoredBatch>, StoreError> {
    fetch_by(shared, queries::batches_from(log, from), most).await
}

async fn fetch_by(shared: &MongoShared, query: IndexedQuery, most: i64) -> Result<Vec<StoredBatch>, StoreError> {
    let documents: Vec<RawDocumentBuf> = shared
        .read(async || {
            let batches = &shared.collections.batches;
            let find = batches.find(query.filter.clone()).sort(query.sort.clone()).limit(most);
            let mut cursor = find.batch_size(u32::try_from(most).unwrap_or(1)).await?;
            let mut documents = Vec::new();
            let mut bytes = 0;
            while cursor.advance().await? {
                let document = cursor.current();
                bytes += document.as_bytes().len();
                documents.push(document.to_owned());
                // Large batches are fetched one at a time.
                if bytes > shared.options.sizes.batch_bytes {
                    break;
                }
            }
            Ok(documents)
        })
        .await?;
    let read = |document: RawDocumentBuf| StoredBatch::read(&document).map_err(|_| unreadable(key_text(&document)));
    documents.into_iter().map(read).collect()
}

fn key_text(document: &RawDocumentBuf) -> String {
    format!("the batch {:?}", document.get("_id"))
}
