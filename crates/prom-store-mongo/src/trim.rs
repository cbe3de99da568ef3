//! Trimming: the start moves at once, in the log's document. The batches are removed later, when they are old enough.
//!
//! ```text
//!   logs: { _id: { topic, partition }, start, next, last_stored_ts, total, removed, compacted, versions, latest_upto,
//!           latest_from, merged_upto, ended, begun }
//! ```
//!
//! `next`, `last_stored_ts` and `total` record how far batches have been removed, so that an emptied log continues
//! where it ended. `latest_upto` is never behind `start`: what is trimmed is in `latest` before, and what `latest` has
//! from before `latest_from` is outdated. A log that has `ended` takes nothing until it begins anew, at `begun` or behind it.

use std::sync::Arc;

use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use mongodb::options::ReturnDocument;
use prom_store::{Bounds, LogName, LogOptions, StoreError};
use prom_types::{EpochMs, Offset};

use crate::codec::BatchHead;
use crate::fault::unreadable;
use crate::log::{LogHandle, ensure_loaded};
use crate::shared::MongoShared;
use crate::{latest, queries};

/// A log's own document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogDocument {
    pub start: Offset,
    pub next: Offset,
    pub last_stored_ts: EpochMs,
    pub total: u64,
    pub removed: u64,
    pub options: LogOptions,
    pub latest_upto: Offset,
    pub latest_from: Offset,
    pub merged_upto: Offset,
    pub ended: bool,
    pub begun: Offset,
}

impl LogDocument {
    pub fn read(document: &Document) -> Self {
        let whole = |name: &str| match document.get(name) {
            Some(Bson::Int64(value)) => *value,
            Some(Bson::Int32(value)) => i64::from(*value),
            _ => 0,
        };
        Self {
            start: whole("start") as Offset,
            next: whole("next") as Offset,
            last_stored_ts: whole("last_stored_ts"),
            total: whole("total") as u64,
            removed: whole("removed") as u64,
            options: LogOptions {
                compacted: document.get_bool("compacted").unwrap_or(false),
                versions: document.get_bool("versions").unwrap_or(false),
            },
            latest_upto: whole("latest_upto") as Offset,
            latest_from: whole("latest_from") as Offset,
            merged_upto: whole("merged_upto") as Offset,
            ended: document.get_bool("ended").unwrap_or(false),
            begun: whole("begun") as Offset,
        }
    }
}

/// The initial fields of a new log's document, except those in `set`.
pub fn new_log(set: &Document) -> Document {
    let mut document = doc! {
        "start": 0i64,
        "next": 0i64,
        "last_stored_ts": 0i64,
        "total": 0i64,
        "removed": 0i64,
        "compacted": false,
        "versions": false,
        "latest_upto": 0i64,
        "latest_from": 0i64,
        "merged_upto": 0i64,
        "ended": false,
        "begun": 0i64,
    };
    set.keys().for_each(|name| drop(document.remove(name)));
    document
}

/// Creates the log's document if there is none, so that the log is listed.
pub async fn make_log(shared: &MongoShared, log: &LogHandle) -> Result<(), StoreError> {
    shared
        .read(|| async {
            let update = doc! { "$setOnInsert": new_log(&doc! {}) };
            shared.collections.logs.update_one(queries::log(&log.name).filter, update).upsert(true).await
        })
        .await?;
    log.lock().is_made = true;
    Ok(())
}

pub async fn read_log(shared: &MongoShared, log: &LogName) -> Result<Option<LogDocument>, StoreError> {
    let found = shared.read(|| async { shared.collections.logs.find_one(queries::log(log).filter).await }).await?;
    Ok(found.as_ref().map(LogDocument::read))
}

pub async fn trim(shared: &Arc<MongoShared>, name: &LogName, before: Offset) -> Result<Bounds, StoreError> {
    shared.check_open()?;
    let log = shared.log(name);
    ensure_loaded(shared, &log).await?;
    let (bounds, is_made, keeps_latest) = {
        let known = log.lock();
        (known.bounds, known.is_made, known.options.keeps_latest())
    };
    let start = before.clamp(bounds.start, bounds.next);
    if !is_made || start == bounds.start {
        return Ok(bounds);
    }
    if keeps_latest {
        latest::fill(shared, &log).await?;
    }
    let removed = bytes_before(shared, name, start).await?;
    let update = doc! { "$max": { "start": start as i64, "removed": removed as i64 } };
    let after = shared
        .read(|| async {
            let logs = &shared.collections.logs;
            let filter = queries::log(name).filter;
            logs.find_one_and_update(filter, update.clone()).return_document(ReturnDocument::After).await
        })
        .await?;
    let after = after.as_ref().map(LogDocument::read);
    let after = after.ok_or_else(|| unreadable(format!("{name} has no document in logs, and was not trimmed")))?;
    let mut known = log.lock();
    known.start_at(after.start, after.removed);
    Ok(known.bounds)
}

/// Bytes of the log before an offset, to the precision of a batch.
async fn bytes_before(shared: &MongoShared, log: &LogName, offset: Offset) -> Result<u64, StoreError> {
    let head = head_before(shared, log, offset).await?;
    Ok(head.map_or(0, |head| if head.next <= offset { head.total } else { head.total_before() }))
}

/// The last batch that begins before `before`.
pub async fn head_before(shared: &MongoShared, log: &LogName, before: Offset) -> Result<Option<BatchHead>, StoreError> {
    let found: Option<RawDocumentBuf> = shared
        .read(|| async {
            let query = queries::heads_before(log, before);
            shared.collections.batches.find_one(query.filter).sort(query.sort).projection(query.projection).await
        })
        .await?;
    Ok(found.as_deref().and_then(|document| BatchHead::read(document).ok()))
}
