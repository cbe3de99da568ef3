//! The latest event of each key of a compacted log.
//!
//! ```text
//!   { _id: { topic, partition, key }, offset, tombstone, event }
//! ```
//!
//! Filled after the appends: the log's `latest_upto` says how far. A lookup combines the filled part with the rest of
//! the log, so it is never behind.

use std::sync::Arc;

use hashbrown::HashMap;
use mongodb::bson::error::Error as NotBson;
use mongodb::bson::{RawArrayBuf, RawBson, RawDocument, RawDocumentBuf, doc, rawdoc};
use prom_store::{LogName, Record, StoreError};
use prom_types::Offset;

use crate::codec::{StoredBatch, event_document};
use crate::fault::{self, FailedWrite, unreadable};
use crate::limits::{LATEST_BYTES, LATEST_FILL, LATEST_STATEMENTS};
use crate::log::{LogHandle, ensure_loaded};
use crate::read::read;
use crate::shared::{MongoShared, all};
use crate::{command, queries};

/// The latest event of a key, as it is stored.
pub struct Latest {
    pub offset: Offset,
    pub is_tombstone: bool,
    pub record: Record,
}

pub async fn latest_by_key(
    shared: &Arc<MongoShared>,
    name: &LogName,
    keys: &[&str],
) -> Result<Vec<Option<Record>>, StoreError> {
    shared.check_open()?;
    let log = shared.log(name);
    ensure_loaded(shared, &log).await?;
    let (is_compacted, upto) = {
        let known = log.lock();
        (known.options.compacted, known.latest_upto)
    };
    if !is_compacted {
        return Err(StoreError::NotCompacted { log: name.clone() });
    }
    let mut found = filled(shared, name, keys).await?;
    lay_over(shared, name, upto, &mut found, keys).await?;
    let start = log.bounds().start;
    let pick = |key: &&str| {
        let latest = found.get(*key).filter(|latest| latest.offset >= start && !latest.is_tombstone)?;
        Some(latest.record.clone())
    };
    Ok(keys.iter().map(pick).collect())
}

/// The entries of `latest` for these keys.
pub async fn filled(
    shared: &MongoShared,
    name: &LogName,
    keys: &[&str],
) -> Result<HashMap<String, Latest>, StoreError> {
    let mut found = HashMap::new();
    for keys in keys.chunks(LATEST_STATEMENTS) {
        let documents = shared
            .read(async || all(shared.collections.latest.find(queries::latest(name, keys).filter).await?).await)
            .await?;
        for document in documents {
            let (key, latest) =
                read_latest(&document).ok_or_else(|| unreadable(format!("a latest event of {name}")))?;
            found.insert(key, latest);
        }
    }
    Ok(found)
}

fn read_latest(document: &RawDocument) -> Option<(String, Latest)> {
    let key = document.get_document("_id").ok()?.get_str("key").ok()?.to_owned();
    let offset = document.get_i64("offset").ok()? as Offset;
    let event = document.get_document("event").ok()?;
    let record = StoredBatch::read_single(event)?;
    Some((key, Latest { offset, is_tombstone: record.is_tombstone(), record }))
}

async fn lay_over(
    shared: &Arc<MongoShared>,
    name: &LogName,
    upto: Offset,
    found: &mut HashMap<String, Latest>,
    keys: &[&str],
) -> Result<(), StoreError> {
    let mut from = upto;
    loop {
        let batch = read(shared, name, from, LATEST_FILL).await?;
        for record in batch.records {
            let Some(key) = record.key().filter(|key| keys.contains(key)) else { continue };
            let latest =
                Latest { offset: record.offset(), is_tombstone: record.is_tombstone(), record: record.clone() };
            found.insert(key.to_owned(), latest);
        }
        if batch.next >= batch.bounds.next {
            return Ok(());
        }
        from = batch.next;
    }
}

/// Fills in the background, one task per log at a time.
pub fn fill_soon(shared: &Arc<MongoShared>, log: &Arc<LogHandle>) {
    {
        let mut known = log.lock();
        if !known.options.compacted || known.filling_latest || known.latest_upto >= known.bounds.next {
            return;
        }
        known.filling_latest = true;
    }
    let (shared, log) = (shared.clone(), log.clone());
    shared.clone().runtime.spawn(async move {
        let _end = FillEnd(&log);
        match fill(&shared, &log).await {
            Ok(()) => {}
            Err(StoreError::Closed) => {}
            // Lookups still combine it with the rest of the log; the next append tries again.
            Err(error) => tracing::warn!(log = %log.name, %error, "the latest events could not be filled in"),
        }
    });
}

/// However filling ends, the next append can start it again.
struct FillEnd<'a>(&'a LogHandle);

impl Drop for FillEnd<'_> {
    fn drop(&mut self) {
        self.0.lock().filling_latest = false;
    }
}

/// Brings `latest` up to the head.
pub async fn fill(shared: &Arc<MongoShared>, log: &Arc<LogHandle>) -> Result<(), StoreError> {
    loop {
        let (from, next) = {
            let known = log.lock();
            (known.latest_upto.max(known.bounds.start), known.bounds.next)
        };
        if from >= next || shared.is_closed() {
            return Ok(());
        }
        let batch = read(shared, &log.name, from, LATEST_FILL).await?;
        put(shared, &log.name, batch.records.iter()).await?;
        let upto = doc! { "$max": { "latest_upto": batch.next as i64 } };
        shared
            .read(|| async { shared.collections.logs.update_one(queries::log(&log.name).filter, upto.clone()).await })
            .await?;
        let mut known = log.lock();
        known.latest_upto = known.latest_upto.max(batch.next);
    }
}

/// Only newer events win, so filling twice, even from two hubs, changes nothing.
pub async fn put<'a>(
    shared: &MongoShared,
    name: &LogName,
    records: impl Iterator<Item = &'a Record>,
) -> Result<(), StoreError> {
    let mut newest: HashMap<&str, &Record> = HashMap::new();
    for record in records {
        if let Some(key) = record.key() {
            newest.insert(key, record);
        }
    }
    let (mut statements, mut count, mut bytes) = (RawArrayBuf::new(), 0, 0);
    for (key, record) in newest {
        let event = event_document(record);
        if count == LATEST_STATEMENTS || bytes + event.len() > LATEST_BYTES {
            update(shared, std::mem::take(&mut statements)).await?;
            (count, bytes) = (0, 0);
        }
        count += 1;
        bytes += event.len();
        let statement = statement(name, key, record, event);
        statements.push(statement.map_err(|_| unreadable(format!("an event of {name}")))?);
    }
    update(shared, statements).await
}

async fn update(shared: &MongoShared, statements: RawArrayBuf) -> Result<(), StoreError> {
    if statements.is_empty() {
        return Ok(());
    }
    let done = shared.read(|| async {
        let update = rawdoc! {
            "update": shared.collections.latest.name(),
            "updates": statements.clone(),
            "ordered": false,
            "writeConcern": { "w": "majority", "j": true },
        };
        match command::run(shared.collections.database.run_raw_command(update)).await {
            // Two hubs created an entry at once: the second finds that of the first.
            Err(error) if fault::of_write(&error) == FailedWrite::Duplicate => Err(fault::timed_out()),
            done => done,
        }
    });
    done.await.map(drop)
}

/// Replaces an older entry, creates a missing one, leaves a newer one alone.
fn statement(name: &LogName, key: &str, record: &Record, event: Vec<u8>) -> Result<RawDocumentBuf, NotBson> {
    let event = RawDocumentBuf::from_bytes(event)?;
    let key = RawDocumentBuf::try_from(&queries::latest_key(name, key))?;
    let offset = record.offset() as i64;
    let is_newer = rawdoc! { "$lt": [{ "$ifNull": ["$offset", -1i64] }, offset] };
    let or_as_it_is = |value: RawBson, now: &str| rawdoc! { "$cond": [is_newer.clone(), { "$literal": value }, now] };
    let set = rawdoc! {
        "event": or_as_it_is(event.into(), "$event"),
        "tombstone": or_as_it_is(record.is_tombstone().into(), "$tombstone"),
    };
    let offset = rawdoc! { "offset": or_as_it_is(offset.into(), "$offset") };
    Ok(rawdoc! { "q": { "_id": key }, "u": [{ "$set": set }, { "$set": offset }], "upsert": true })
}

/// Forgets a key that has no event left.
pub async fn forget(shared: &MongoShared, name: &LogName, key: &str, offset: Offset) -> Result<(), StoreError> {
    let filter = || doc! { "_id": queries::latest_key(name, key), "offset": offset as i64 };
    shared.read(|| async { shared.collections.latest.delete_one(filter()).await }).await?;
    Ok(())
}
