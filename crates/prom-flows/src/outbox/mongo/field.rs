//! Rows that are elements of an array in business documents, for writers without transactions: one update writes both.
//!
//! The rows of a document keep the order of the array and are drained together; they are pulled out once they are sent. A
//! document is found by the time of its oldest row.

use std::time::Duration;

use async_trait::async_trait;
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use mongodb::options::IndexOptions;
use mongodb::{Collection, IndexModel};
use prom_jobs::{FlowRow, FlowRowQuery};
use prom_types::EpochMs;

use super::super::buckets::ClaimedPart;
use super::super::error::SourceError;
use super::super::limits::{CHANGED_ROWS, CLAIM_BYTES, SHOWN_ROWS};
use super::super::row::OutboxRow;
use super::super::source::{
    Backlog, BucketWish, Expired, FailedRow, FailingRow, OutboxSource, RowChange, RowClaim, Settlement,
};
use super::claims::BucketLeases;
use super::collection::{attempts_seen, ids_of, of_buckets};
use super::convert;
use super::wake::RowNews;

/// An outbox that is an array field.
pub struct FieldSource {
    documents: Collection<RawDocumentBuf>,
    field: String,
    claims: BucketLeases,
    wake: RowNews,
}

impl FieldSource {
    /// Makes the index and the documents of the leases where they are missing.
    pub async fn open(documents: Collection<RawDocumentBuf>, field: &str) -> Result<Self, SourceError> {
        let claims = BucketLeases::open(&documents).await?;
        let options = IndexOptions::builder().name(format!("outbox_{field}")).sparse(true).build();
        let by_time = IndexModel::builder().keys(doc! { format!("{field}.ts"): 1 }).options(options).build();
        documents.create_index(by_time).await?;
        let wake = RowNews::new(documents.clone());
        Ok(Self { documents, field: field.to_owned(), claims, wake })
    }

    /// Documents with rows, by the oldest.
    fn with_rows(&self) -> Document {
        doc! { format!("{}.ts", self.field): { "$exists": true } }
    }

    fn oldest_first(&self) -> Document {
        doc! { format!("{}.ts", self.field): 1 }
    }

    async fn each_row(
        &self,
        filter: Document,
        limit: usize,
        mut take: impl FnMut(&RawDocument, &Bson) -> usize,
    ) -> Result<(), SourceError> {
        let documents = i64::try_from(limit).unwrap_or(i64::MAX);
        let find = self.documents.find(filter).sort(self.oldest_first()).limit(documents);
        let mut cursor = find.projection(doc! { &self.field: 1 }).await?;
        let mut bytes = 0;
        while bytes < CLAIM_BYTES && cursor.advance().await? {
            let document = cursor.current();
            let Some(id) = convert::field(document, "_id").and_then(|id| Bson::try_from(id).ok()) else { continue };
            let Some(rows) = convert::field(document, &self.field).and_then(|rows| rows.as_array()) else { continue };
            for row in rows.into_iter().flatten() {
                if let Some(row) = row.as_document() {
                    bytes += take(row, &id);
                }
            }
        }
        Ok(())
    }

    /// The document with this element, for `$` to stand for it.
    fn element(&self, row: &OutboxRow, condition: Document) -> Document {
        let mut element = doc! { "_id": row.id.bson.clone() };
        element.extend(condition);
        doc! { "_id": row.id.document.clone(), &self.field: { "$elemMatch": element } }
    }

    fn failing_filter(&self) -> Document {
        doc! { &self.field: { "$elemMatch": { "last_err": { "$type": "string" } } } }
    }

    async fn failing_rows(&self, limit: usize) -> Result<Vec<(OutboxRow, FlowRow, Option<EpochMs>)>, SourceError> {
        let mut failing = Vec::new();
        let take = |row: &RawDocument, id: &Bson| {
            if convert::field(row, "last_err").is_some() && failing.len() < limit {
                let known = convert::row_of(row, Some(id)).zip(convert::shown(row, Some(id)));
                failing.extend(known.map(|(known, shown)| (known, shown, convert::retry_at(row))));
            }
            0
        };
        self.each_row(self.failing_filter(), limit, take).await?;
        Ok(failing)
    }
}

/// Ids of other kinds than [`ids_of`] knows are told apart here.
fn is_held(row: &OutboxRow, held: &[String]) -> bool {
    row.lane.as_ref().is_some_and(|lane| held.contains(lane))
}

fn is_wanted(row: &FlowRow, query: &FlowRowQuery) -> bool {
    let fits = |wanted: &Option<String>, is: Option<&str>| wanted.as_deref().is_none_or(|wanted| Some(wanted) == is);
    fits(&query.status, Some(&row.status))
        && fits(&query.topic, Some(&row.topic))
        && fits(&query.key, row.key.as_deref())
        && (query.ids.is_empty() || query.ids.contains(&row.id))
}

#[async_trait]
impl OutboxSource for FieldSource {
    async fn buckets(&self, wish: &BucketWish<'_>) -> Result<Vec<ClaimedPart>, SourceError> {
        self.claims.wish(wish).await
    }

    /// The lane of a row is its document, so that the order of the array holds.
    async fn claim(&self, claim: &RowClaim<'_>) -> Result<Vec<OutboxRow>, SourceError> {
        let mut filter = self.with_rows();
        filter.extend(of_buckets(claim.buckets, "$_id".into()).into_iter().flatten());
        if !claim.held.is_empty() {
            filter.insert("_id", doc! { "$nin": ids_of(claim.held) });
        }
        let mut rows: Vec<OutboxRow> = Vec::new();
        let take = |row: &RawDocument, id: &Bson| {
            let is_error = convert::retry_at(row).is_none();
            let known = convert::row_of(row, Some(id));
            let known = known.filter(|row| !is_error && !is_held(row, claim.held) && rows.len() < claim.rows);
            let bytes = known.as_ref().map_or(0, OutboxRow::bytes);
            rows.extend(known);
            bytes
        };
        self.each_row(filter, claim.rows, take).await?;
        Ok(rows)
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<(), SourceError> {
        if !settlement.sent.is_empty() {
            let mut documents: Vec<Bson> = settlement.sent.iter().filter_map(|row| row.id.document.clone()).collect();
            documents.dedup();
            let rows: Vec<Bson> = settlement.sent.iter().filter_map(|row| row.id.bson.clone()).collect();
            let sent = doc! { "$pull": { &self.field: { "_id": { "$in": rows } } } };
            self.documents.update_many(doc! { "_id": { "$in": documents } }, sent).await?;
        }
        for FailedRow { row, reason, retry_at } in settlement.failed {
            let claimed = self.element(row, doc! { "attempts": attempts_seen(row.attempts) });
            let at = |name: &str| format!("{}.$.{name}", self.field);
            let mut set = doc! {
                at("attempts"): i64::from(row.attempts) + 1, at("last_err"): reason,
                at("claimed_by"): settlement.holder, at("lease_until"): retry_at.map_or(Bson::Null, Bson::from),
            };
            if retry_at.is_none() {
                set.insert(at("status"), "error");
            }
            self.documents.update_one(claimed, doc! { "$set": set }).await?;
        }
        Ok(())
    }

    async fn failing(&self, limit: usize) -> Result<Vec<FailingRow>, SourceError> {
        let rows = self.failing_rows(limit).await?.into_iter();
        Ok(rows.map(|(row, _, retry_at)| FailingRow { id: row.id, lane: row.lane, retry_at }).collect())
    }

    async fn backlog(&self) -> Result<Backlog, SourceError> {
        let counted = doc! { "$group": {
            "_id": Bson::Null,
            "rows": { "$sum": { "$size": format!("${}", self.field) } },
            "oldest": { "$min": { "$min": format!("${}.ts", self.field) } },
        } };
        let mut cursor = self.documents.aggregate([doc! { "$match": self.with_rows() }, counted]).await?;
        let errors =
            self.failing_rows(CHANGED_ROWS).await?.iter().filter(|(_, _, retry)| retry.is_none()).count() as u64;
        if !cursor.advance().await? {
            return Ok(Backlog::default());
        }
        let all = convert::number(cursor.current(), "rows").and_then(|rows| u64::try_from(rows).ok());
        let pending = all.unwrap_or_default().saturating_sub(errors);
        Ok(Backlog { pending, errors, oldest: convert::number(cursor.current(), "oldest") })
    }

    async fn arrived(&self, poll: Duration) -> Result<(), SourceError> {
        self.wake.wait(poll).await;
        Ok(())
    }

    /// Sent rows are pulled at once.
    async fn expire(&self, _sent_before: EpochMs) -> Result<Expired, SourceError> {
        Ok(Expired::All)
    }

    async fn rows(&self, query: &FlowRowQuery) -> Result<Vec<FlowRow>, SourceError> {
        let limit = query.limit.unwrap_or(SHOWN_ROWS).min(SHOWN_ROWS);
        let mut rows = Vec::new();
        let take = |row: &RawDocument, id: &Bson| {
            let shown = convert::shown(row, Some(id)).filter(|shown| is_wanted(shown, query) && rows.len() < limit);
            rows.extend(shown);
            0
        };
        self.each_row(self.with_rows(), SHOWN_ROWS, take).await?;
        Ok(rows)
    }

    async fn change(&self, change: RowChange, query: &FlowRowQuery) -> Result<u64, SourceError> {
        let failing = self.failing_rows(CHANGED_ROWS).await?.into_iter();
        let wanted = failing.filter(|(_, shown, retry_at)| retry_at.is_none() && is_wanted(shown, query));
        let mut changed = 0;
        for (row, ..) in wanted.take(query.limit.unwrap_or(CHANGED_ROWS)) {
            let found = self.element(&row, doc! { "last_err": { "$type": "string" } });
            let at = |name: &str| format!("{}.$.{name}", self.field);
            let update = match change {
                RowChange::Requeue => doc! {
                    "$set": { at("attempts"): 0, at("status"): "pending" },
                    "$unset": { at("last_err"): "", at("lease_until"): "", at("claimed_by"): "" },
                },
                RowChange::Drop => doc! { "$pull": { &self.field: { "_id": row.id.bson.clone() } } },
            };
            changed += self.documents.update_one(found, update).await?.modified_count;
        }
        Ok(changed)
    }
}
