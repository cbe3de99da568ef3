//! Finding an offset by time, by id, or by how many bytes remain after it.

use std::sync::Arc;

use prom_store::{Find, LogName, ReadLimit, Record, StoreError};
use prom_types::{EpochMs, EventId, Offset};

use crate::codec::{BatchHead, StoredBatch};
use crate::fault::{explain, unreadable};
use crate::limits::{CLOCK_DOUBT_MS, SEARCH_TIMEOUT};
use crate::log::{LogHandle, ensure_loaded};
use crate::queries;
use crate::read::read;
use crate::shared::MongoShared;
use crate::trim::head_before;

pub async fn find(shared: &Arc<MongoShared>, name: &LogName, what: Find) -> Result<Option<Offset>, StoreError> {
    shared.check_open()?;
    let log = shared.log(name);
    ensure_loaded(shared, &log).await?;
    let bounds = log.bounds();
    if bounds.start == bounds.next {
        return Ok(None);
    }
    match what {
        Find::StoredAt(stored_ts) => stored_at(shared, name, bounds.start, stored_ts).await,
        Find::Id(id) => with_id(shared, name, id).await,
        Find::RemainingBytes(most) => remaining(shared, &log, most).await,
    }
}

/// The index finds the batch; the event is found inside it.
async fn stored_at(
    shared: &Arc<MongoShared>,
    name: &LogName,
    start: Offset,
    stored_ts: EpochMs,
) -> Result<Option<Offset>, StoreError> {
    let Some(head) = batch_stored_at(shared, name, stored_ts).await? else {
        return Ok(None);
    };
    first_record(shared, name, head.base.max(start), |record| record.stored_ts() >= stored_ts).await
}

async fn batch_stored_at(
    shared: &MongoShared,
    name: &LogName,
    stored_ts: EpochMs,
) -> Result<Option<BatchHead>, StoreError> {
    let found = shared
        .read(|| async {
            let query = queries::stored_at(name, stored_ts);
            shared.collections.batches.find_one(query.filter).sort(query.sort).projection(query.projection).await
        })
        .await?;
    let read = |document: mongodb::bson::RawDocumentBuf| BatchHead::read(&document);
    found.map(read).transpose().map_err(|_| unreadable(format!("a batch of {name}")))
}

/// The first event at or after `from` that matches.
async fn first_record(
    shared: &Arc<MongoShared>,
    name: &LogName,
    mut from: Offset,
    is_it: impl Fn(&Record) -> bool,
) -> Result<Option<Offset>, StoreError> {
    loop {
        let batch = read(shared, name, from, ReadLimit::default()).await?;
        if let Some(found) = batch.records.iter().find(|record| is_it(record)) {
            return Ok(Some(found.offset()));
        }
        if batch.next >= batch.bounds.next {
            return Ok(None);
        }
        from = batch.next;
    }
}

/// First around the time that the id itself carries, then everywhere, newest first.
async fn with_id(shared: &Arc<MongoShared>, name: &LogName, id: EventId) -> Result<Option<Offset>, StoreError> {
    let bounds = shared.log(name).bounds();
    // The start may lie inside a batch.
    let first = head_before(shared, name, bounds.start + 1).await?.map_or(0, |head| head.base);
    if let Some(made_ms) = id.made_ms() {
        let from = batch_stored_at(shared, name, made_ms - CLOCK_DOUBT_MS).await?.map_or(bounds.next, |head| head.base);
        let to = batch_stored_at(shared, name, made_ms + CLOCK_DOUBT_MS).await?.map_or(bounds.next, |head| head.next);
        let found = id_between(shared, name, id, from.max(first), to).await?;
        if found.is_some_and(|offset| offset >= bounds.start) {
            return Ok(found);
        }
    }
    let found = id_between(shared, name, id, first, bounds.next).await?;
    Ok(found.filter(|offset| *offset >= bounds.start))
}

async fn id_between(
    shared: &MongoShared,
    name: &LogName,
    id: EventId,
    from: Offset,
    before: Offset,
) -> Result<Option<Offset>, StoreError> {
    let query = queries::with_id(name, id, from, before);
    let find = shared.collections.batches.find_one(query.filter).sort(query.sort).projection(query.projection);
    let found = MongoShared::within(SEARCH_TIMEOUT, async { find.await }).await.map_err(|error| explain(&error))?;
    let Some(document) = found else {
        return Ok(None);
    };
    let ids = StoredBatch::read_ids(&document).map_err(|_| unreadable(format!("a batch of {name}")))?;
    Ok(ids.into_iter().rev().find(|(of, _)| *of == id).map(|(_, at)| at.offset))
}

/// Each batch knows how many bytes lie before it, so a binary search finds the offset.
async fn remaining(shared: &Arc<MongoShared>, log: &LogHandle, most: u64) -> Result<Option<Offset>, StoreError> {
    let (bounds, total, is_compacted) = {
        let known = log.lock();
        (known.bounds, known.total, known.options.compacted)
    };
    if is_compacted {
        return remaining_of_compacted(shared, log, most).await;
    }
    // Everything that ends beyond this many bytes from the start may stay.
    let cut = total.saturating_sub(most);
    let (mut low, mut high) = (bounds.start, bounds.next);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match head_before(shared, &log.name, middle + 1).await? {
            Some(head) if head.total_before() >= cut && head.base > low => high = head.base,
            Some(head) if head.total_before() >= cut => break,
            Some(head) if head.total > cut => {
                low = head.base.max(bounds.start);
                break;
            }
            Some(head) => low = head.next.min(high),
            None => low = middle,
        }
        if low >= high {
            break;
        }
    }
    from_within(shared, &log.name, low, total, most).await
}

/// Continues event by event from the batch at `from`.
async fn from_within(
    shared: &Arc<MongoShared>,
    name: &LogName,
    from: Offset,
    total: u64,
    most: u64,
) -> Result<Option<Offset>, StoreError> {
    let Some(head) = head_before(shared, name, from + 1).await? else {
        return Ok(None);
    };
    let start = shared.log(name).bounds().start;
    let mut remaining = total.saturating_sub(head.total_before());
    let mut at = head.base;
    loop {
        let batch = read_whole(shared, name, at).await?;
        for record in &batch.records {
            if remaining <= most && record.offset() >= start {
                return Ok(Some(record.offset()));
            }
            remaining = remaining.saturating_sub(record.len() as u64);
        }
        at = batch.head.next;
        if at >= shared.log(name).bounds().next {
            return Ok(None);
        }
    }
}

/// Also below the start, which normal reading does not reach.
async fn read_whole(shared: &MongoShared, name: &LogName, base: Offset) -> Result<StoredBatch, StoreError> {
    let fetched = crate::read::fetch(shared, name, base, 1).await?;
    fetched.into_iter().next().ok_or_else(|| unreadable(format!("{name} has no batch at {base}")))
}

/// Compaction took bytes out of the middle, so they are counted from the end.
async fn remaining_of_compacted(
    shared: &Arc<MongoShared>,
    log: &LogHandle,
    most: u64,
) -> Result<Option<Offset>, StoreError> {
    let bounds = log.bounds();
    let (mut before, mut sum, mut found) = (bounds.next, 0, None);
    while let Some(head) = head_before(shared, &log.name, before).await? {
        sum += head.bytes;
        if sum > most || head.next <= bounds.start {
            break;
        }
        found = Some(head.base.max(bounds.start));
        before = head.base;
    }
    match found {
        Some(from) => first_record(shared, &log.name, from, |_| true).await,
        None => Ok(None),
    }
}
