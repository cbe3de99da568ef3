//! Documents: one MongoDB document each, in a collection named after theirs.
//!
//! ```text
//!   { _id: key, revision, value }   or, if the value is not JSON that can be reproduced exactly,
//!   { _id: key, revision, bytes }
//! ```

use mongodb::bson::{Document as Bson, RawDocument, RawDocumentBuf, doc};
use mongodb::error::Error;
use mongodb::{ClientSession, Collection};
use prom_store::{CommitError, Committed, Document, DocumentWrite, Expect, Outcome, Standing, StoreError};
use std::sync::Arc;
use tokio::time::Instant;

use crate::codec::{DocumentValue, document_value};
use crate::commit::{TransactionError, WaitingCommit, in_transaction};
use crate::fault::{self, FailedWrite, unreadable};
use crate::queries;
use crate::shared::{MongoShared, RetryPause, all, commit_error};

/// One turn of a document's lane.
pub async fn write(shared: &Arc<MongoShared>, waiting: Vec<WaitingCommit>) {
    for waiting in waiting {
        let result = match waiting.commit.documents.as_slice() {
            [write] => write_one(shared, write).await,
            _ => in_transaction(shared, &waiting.commit).await.map(|_| ()),
        };
        shared.lanes.answer(waiting, result.map(|()| Committed::default()));
    }
}

/// One conditional write. Retried only while it is certain that nothing was written.
async fn write_one(shared: &MongoShared, write: &DocumentWrite) -> Result<(), CommitError> {
    let deadline = Instant::now() + shared.options.times.commit;
    let collection = shared.collections.documents(&write.collection);
    let mut pause = RetryPause::default();
    loop {
        let begun = Instant::now();
        let error = match shared.call(conditionally(&collection, write)).await {
            Ok(true) => {
                shared.sync_ms.record(begun.elapsed());
                return Ok(());
            }
            Ok(false) => return Err(conflict(shared, write).await),
            Err(error) => error,
        };
        match fault::of_write(&error) {
            FailedWrite::Duplicate if write.expect == Expect::Anything => {}
            FailedWrite::Duplicate if write.expect == Expect::AbsentOrSame => match standing(shared, write).await? {
                // It was deleted since.
                Standing { revision: 0, .. } => {}
                there => return write.onto(&there).map(drop),
            },
            FailedWrite::Duplicate => return Err(conflict(shared, write).await),
            FailedWrite::NotNow if Instant::now() < deadline => pause.wait().await,
            FailedWrite::Unknown => return Err(fault::commit_failed(&error, Outcome::Unknown)),
            FailedWrite::NotNow | FailedWrite::Refused => return Err(fault::commit_failed(&error, Outcome::NotStored)),
        }
    }
}

/// Whether the document was as expected, and is now written.
async fn conditionally(collection: &Collection<RawDocumentBuf>, write: &DocumentWrite) -> Result<bool, Error> {
    let key = doc! { "_id": &write.key };
    let expected = match write.expect {
        Expect::Revision(revision) if revision > 0 => doc! { "_id": &write.key, "revision": revision as i64 },
        _ => key,
    };
    match (&write.value, write.expect) {
        (Some(value), Expect::Absent | Expect::AbsentOrSame | Expect::Revision(0)) => {
            let mut document = doc! { "_id": &write.key, "revision": 1i64 };
            document.extend(fields(value).0);
            collection.insert_one(RawDocumentBuf::try_from(&document)?).await?;
            Ok(true)
        }
        (Some(value), expect) => {
            let upsert = expect == Expect::Anything;
            let updated = collection.update_one(expected, change(value)).upsert(upsert).await?;
            Ok(upsert || updated.matched_count == 1)
        }
        (None, Expect::Anything) => collection.delete_one(expected).await.map(|_| true),
        (None, Expect::Absent | Expect::AbsentOrSame | Expect::Revision(0)) => {
            Ok(collection.find_one(expected).await?.is_none())
        }
        (None, Expect::Revision(_)) => Ok(collection.delete_one(expected).await?.deleted_count == 1),
    }
}

/// The fields to set and the fields to unset.
fn fields(value: &[u8]) -> (Bson, Bson) {
    match document_value(value) {
        DocumentValue::Json(value) => (doc! { "value": value }, doc! { "bytes": "" }),
        DocumentValue::Bytes(bytes) => (doc! { "bytes": bytes }, doc! { "value": "" }),
    }
}

fn change(value: &[u8]) -> Bson {
    let (set, unset) = fields(value);
    doc! { "$set": set, "$unset": unset, "$inc": { "revision": 1i64 } }
}

async fn conflict(shared: &MongoShared, write: &DocumentWrite) -> CommitError {
    match standing(shared, write).await {
        Ok(there) => write.conflict(there.revision),
        Err(error) => error,
    }
}

async fn standing(shared: &MongoShared, write: &DocumentWrite) -> Result<Standing, CommitError> {
    document(shared, &write.collection, &write.key).await.map(Standing::from).map_err(commit_error)
}

/// The writes of a commit inside its transaction, in their order.
pub async fn write_within(
    shared: &MongoShared,
    session: &mut ClientSession,
    writes: &[DocumentWrite],
) -> Result<(), TransactionError> {
    for write in writes {
        let collection = shared.collections.documents(&write.collection);
        let key = || doc! { "_id": &write.key };
        if write.expect != Expect::Anything {
            let found = collection.find_one(key()).session(&mut *session).await?;
            let found = found.as_deref().map(|found| read(&write.collection, found)).transpose();
            let there = found.map_err(|error| TransactionError::Refused(commit_error(error)))?.into();
            if write.onto(&there).map_err(TransactionError::Refused)?.is_none() {
                continue;
            }
        }
        match &write.value {
            Some(value) => {
                collection.update_one(key(), change(value)).upsert(true).session(&mut *session).await?;
            }
            None => {
                collection.delete_one(key()).session(&mut *session).await?;
            }
        }
    }
    Ok(())
}

pub async fn document(shared: &MongoShared, collection: &str, key: &str) -> Result<Option<Document>, StoreError> {
    shared.check_open()?;
    let from = shared.collections.documents(collection);
    let found = shared.read(|| async { from.find_one(queries::document(key).filter).await }).await?;
    found.as_deref().map(|found| read(collection, found)).transpose()
}

pub async fn documents(
    shared: &MongoShared,
    collection: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Document>, StoreError> {
    shared.check_open()?;
    if limit == 0 {
        return Ok(Vec::new());
    }
    let from = shared.collections.documents(collection);
    let found = shared
        .read(async || {
            let query = queries::documents(after);
            let most = i64::try_from(limit).unwrap_or(i64::MAX);
            all(from.find(query.filter).sort(query.sort).limit(most).await?).await
        })
        .await?;
    found.iter().map(|found| read(collection, found)).collect()
}

pub fn read(collection: &str, found: &RawDocument) -> Result<Document, StoreError> {
    let key = found.get_str("_id").ok().map(str::to_owned);
    let parts = key.zip(revision(found)).zip(DocumentValue::read(found).ok());
    let ((key, revision), value) =
        parts.ok_or_else(|| unreadable(format!("{:?} in {collection}", found.get("_id"))))?;
    Ok(Document { key, value, revision })
}

fn revision(found: &RawDocument) -> Option<u64> {
    u64::try_from(found.get_i64("revision").ok()?).ok()
}
