//! Rows that are documents of a collection of their own.
//!
//! | index | for |
//! | --- | --- |
//! | (`ts`, `_id`) of pending rows | claims: one query in the order of publishing |
//! | (`ts`, `_id`) of failing rows | which keys are held |
//! | `sent_at`, expiring | sent rows go by themselves |

use std::time::Duration;

use async_trait::async_trait;
use mongodb::bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use mongodb::options::{Hint, IndexOptions};
use mongodb::{Collection, IndexModel};
use prom_jobs::{FlowRow, FlowRowQuery};
use prom_types::EpochMs;

use super::super::buckets::{BucketSet, ClaimedPart};
use super::super::error::SourceError;
use super::super::limits::{BUCKETS, CHANGED_ROWS, CLAIM_BYTES, SHOWN_ROWS};
use super::super::row::OutboxRow;
use super::super::source::{
    Backlog, BucketWish, Expired, FailedRow, FailingRow, OutboxSource, RowChange, RowClaim, Settlement,
};
use super::claims::BucketLeases;
use super::convert;
use super::wake::RowNews;

const PENDING_INDEX: &str = "outbox_pending";
const SENT_INDEX: &str = "outbox_sent";

/// An outbox that is a collection.
pub struct CollectionSource {
    rows: Collection<RawDocumentBuf>,
    claims: BucketLeases,
    wake: RowNews,
}

impl CollectionSource {
    /// Makes the indexes and the documents of the leases where they are missing.
    pub async fn open(rows: Collection<RawDocumentBuf>, keep_sent: Duration) -> Result<Self, SourceError> {
        let claims = BucketLeases::open(&rows).await?;
        let by_time = |name: &str, only: Document| {
            let options = IndexOptions::builder().name(name.to_owned()).partial_filter_expression(only).build();
            IndexModel::builder().keys(doc! { "ts": 1, "_id": 1 }).options(options).build()
        };
        // Both have the same keys, which MongoDB takes only where the direction of one differs.
        let failing = IndexOptions::builder()
            .name("outbox_failing".to_owned())
            .partial_filter_expression(doc! { "last_err": { "$type": "string" } })
            .build();
        let failing = IndexModel::builder().keys(doc! { "last_err": 1, "ts": 1 }).options(failing).build();
        rows.create_indexes([by_time(PENDING_INDEX, doc! { "status": "pending" }), failing]).await?;
        expire_after(&rows, keep_sent).await?;
        let wake = RowNews::of_rows(rows.clone());
        Ok(Self { rows, claims, wake })
    }
}

/// Sent rows go by themselves after this time, also if it was another before.
async fn expire_after(rows: &Collection<RawDocumentBuf>, keep_sent: Duration) -> Result<(), SourceError> {
    if keep_sent.is_zero() {
        return Ok(());
    }
    let options = IndexOptions::builder().name(SENT_INDEX.to_owned()).expire_after(keep_sent).build();
    let index = IndexModel::builder().keys(doc! { "sent_at": 1 }).options(options).build();
    let Err(refused) = rows.create_index(index).await else {
        return Ok(());
    };
    let seconds = i64::try_from(keep_sent.as_secs()).unwrap_or(i64::MAX);
    let namespace = rows.namespace();
    let change = doc! {
        "collMod": namespace.coll, "index": { "name": SENT_INDEX, "expireAfterSeconds": seconds },
    };
    match rows.client().database(&namespace.db).run_command(change).await {
        Ok(_) => Ok(()),
        Err(_) => Err(refused.into()),
    }
}

/// Which rows are of these buckets. The server has the hash.
pub fn of_buckets(buckets: BucketSet, key: Bson) -> Option<Document> {
    if buckets == BucketSet::ALL {
        return None;
    }
    let hash = doc! { "$toHashedIndexKey": key };
    let bucket = doc! { "$abs": { "$mod": [hash, i64::from(BUCKETS)] } };
    let wanted: Vec<i64> = buckets.iter().map(i64::from).collect();
    Some(doc! { "$expr": { "$in": [bucket, wanted] } })
}

fn failing_filter() -> Document {
    doc! { "last_err": { "$type": "string" }, "status": { "$in": ["pending", "error"] } }
}

fn in_error() -> Document {
    doc! { "last_err": { "$type": "string" }, "status": "error" }
}

fn wanted(query: &FlowRowQuery) -> Document {
    let mut filter = Document::new();
    let texts = [("status", &query.status), ("topic", &query.topic), ("key", &query.key)];
    for (name, value) in texts {
        filter.extend(value.as_ref().map(|value| (name.to_owned(), Bson::from(value))));
    }
    if !query.ids.is_empty() {
        filter.insert(
            "_id",
            doc! { "$in": query.ids.iter().flat_map(|id| convert::meanings_of(id)).collect::<Vec<_>>() },
        );
    }
    filter
}

#[async_trait]
impl OutboxSource for CollectionSource {
    async fn buckets(&self, wish: &BucketWish<'_>) -> Result<Vec<ClaimedPart>, SourceError> {
        self.claims.wish(wish).await
    }

    async fn claim(&self, claim: &RowClaim<'_>) -> Result<Vec<OutboxRow>, SourceError> {
        let mut filter = doc! { "status": "pending", "lease_until": { "$not": { "$gt": claim.now } } };
        if !claim.held.is_empty() {
            filter.insert("key", doc! { "$nin": claim.held });
        }
        filter.extend(of_buckets(claim.buckets, doc! { "$ifNull": ["$key", "$_id"] }.into()).into_iter().flatten());
        let limit = i64::try_from(claim.rows).unwrap_or(i64::MAX);
        let find = self.rows.find(filter).sort(doc! { "ts": 1, "_id": 1 }).limit(limit);
        // In one answer, as far as that has room.
        let mut cursor = find.batch_size(u32::try_from(claim.rows).unwrap_or(u32::MAX)).await?;
        let (mut rows, mut bytes) = (Vec::with_capacity(claim.rows), 0);
        while bytes < CLAIM_BYTES && cursor.advance().await? {
            rows.push(convert::row_of(cursor.current(), None));
            bytes += rows.last().map_or(0, OutboxRow::bytes);
        }
        Ok(rows)
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<(), SourceError> {
        if !settlement.sent.is_empty() {
            let ids: Vec<Bson> = settlement.sent.iter().filter_map(|row| row.id.bson.clone()).collect();
            let claimed = doc! { "_id": { "$in": ids }, "status": "pending" };
            if settlement.keep_sent.is_zero() {
                self.rows.delete_many(claimed).await?;
            } else {
                let sent_at = DateTime::from_millis(settlement.now);
                let sent = doc! { "$set": { "status": "sent", "sent_at": sent_at }, "$unset": { "last_err": "" } };
                self.rows.update_many(claimed, sent).await?;
            }
        }
        for FailedRow { row, reason, retry_at } in settlement.failed {
            let seen = attempts_seen(row.attempts);
            let claimed = doc! { "_id": row.id.bson.clone(), "status": "pending", "attempts": seen };
            let mut set = doc! {
                "attempts": i64::from(row.attempts) + 1, "last_err": reason, "claimed_by": settlement.holder,
                "lease_until": retry_at.map_or(Bson::Null, Bson::from),
            };
            if retry_at.is_none() {
                set.insert("status", "error");
            }
            self.rows.update_one(claimed, doc! { "$set": set }).await?;
        }
        Ok(())
    }

    async fn failing(&self, limit: usize) -> Result<Vec<FailingRow>, SourceError> {
        let fields = doc! { "key": 1, "status": 1, "lease_until": 1, "ts": 1 };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut cursor = self.rows.find(failing_filter()).projection(fields).limit(limit).await?;
        let mut failing = Vec::new();
        while cursor.advance().await? {
            let row = cursor.current();
            let OutboxRow { id, lane, .. } = convert::row_of(row, None);
            failing.push(FailingRow { id, lane, retry_at: convert::retry_at(row) });
        }
        Ok(failing)
    }

    async fn backlog(&self) -> Result<Backlog, SourceError> {
        // Without being told, the server reads all rows, also those that were sent.
        let by_index = Hint::Name(PENDING_INDEX.to_owned());
        let pending = self.rows.count_documents(doc! { "status": "pending" }).hint(by_index).await?;
        let errors = self.rows.count_documents(in_error()).await?;
        let oldest = self.rows.find_one(doc! { "status": "pending" }).sort(doc! { "ts": 1, "_id": 1 }).await?;
        Ok(Backlog { pending, errors, oldest: oldest.and_then(|row| convert::number(&row, "ts")) })
    }

    async fn arrived(&self, poll: Duration) -> Result<(), SourceError> {
        self.wake.wait(poll).await;
        Ok(())
    }

    /// The index does it.
    async fn expire(&self, _sent_before: EpochMs) -> Result<Expired, SourceError> {
        Ok(Expired::All)
    }

    async fn rows(&self, query: &FlowRowQuery) -> Result<Vec<FlowRow>, SourceError> {
        let limit = i64::try_from(query.limit.unwrap_or(SHOWN_ROWS).min(SHOWN_ROWS)).unwrap_or(i64::MAX);
        let mut cursor = self.rows.find(wanted(query)).sort(doc! { "ts": 1, "_id": 1 }).limit(limit).await?;
        let mut rows = Vec::new();
        while cursor.advance().await? {
            rows.push(convert::shown(cursor.current(), None));
        }
        Ok(rows)
    }

    async fn change(&self, change: RowChange, query: &FlowRowQuery) -> Result<u64, SourceError> {
        let filter = doc! { "$and": [wanted(query), in_error()] };
        let limit = i64::try_from(query.limit.unwrap_or(CHANGED_ROWS).min(CHANGED_ROWS)).unwrap_or(i64::MAX);
        let mut ids: Vec<Bson> = Vec::new();
        let mut cursor =
            self.rows.find(filter).projection(doc! { "_id": 1 }).sort(doc! { "ts": 1, "_id": 1 }).limit(limit).await?;
        while cursor.advance().await? {
            let id = convert::field(cursor.current(), "_id").and_then(|id| Bson::try_from(id).ok());
            ids.extend(id);
        }
        let mut these = in_error();
        these.insert("_id", doc! { "$in": ids });
        Ok(match change {
            RowChange::Requeue => {
                let fresh = doc! {
                    "$set": { "status": "pending", "attempts": 0 },
                    "$unset": { "last_err": "", "lease_until": "", "claimed_by": "" },
                };
                self.rows.update_many(these, fresh).await?.modified_count
            }
            RowChange::Drop => self.rows.delete_many(these).await?.deleted_count,
        })
    }
}

/// Writers need not set it.
pub fn attempts_seen(attempts: u32) -> Document {
    match attempts {
        0 => doc! { "$in": [0, Bson::Null] },
        seen => doc! { "$eq": i64::from(seen) },
    }
}
