//! Rows that are elements of an array in business documents, for writers without transactions: one update writes both.
//!
//! The rows of a document keep the order of the array and are drained together; they are pulled out once they are sent. A
//! document is found by the time of its oldest row.

use std::time::Duration;

use async_trait::async_trait;
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use mongodb::options::{Hint, IndexOptions};
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
use super::collection::{attempts_seen, of_buckets};
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
    /// Makes the indexes and the documents of the leases where they are missing.
    pub async fn open(documents: Collection<RawDocumentBuf>, field: &str) -> Result<Self, SourceError> {
        let claims = BucketLeases::open(&documents).await?;
        let sparse = |name: String, keys: Document| {
            let options = IndexOptions::builder().name(name).sparse(true).build();
            IndexModel::builder().keys(keys).options(options).build()
        };
        // A document is in it if any of its elements has one of both: also a row without a time is found.
        let by_time = sparse(rows_index(field), doc! { format!("{field}.ts"): 1, format!("{field}._id"): 1 });
        let failing = sparse(format!("outbox_{field}_failing"), doc! { format!("{field}.last_err"): 1 });
        documents.create_indexes([by_time, failing]).await?;
        let wake = RowNews::of_field(documents.clone(), field);
        Ok(Self { documents, field: field.to_owned(), claims, wake })
    }

    /// The rows of documents with the oldest first, as far as `limit` documents go.
    async fn each_row(
        &self,
        filter: Document,
        limit: usize,
        mut take: impl FnMut(&RawDocument, &Bson) -> usize,
    ) -> Result<(), SourceError> {
        let documents = i64::try_from(limit).unwrap_or(i64::MAX);
        let oldest_first = doc! { format!("{}.ts", self.field): 1 };
        let by_index = Hint::Name(rows_index(&self.field));
        let find = self.documents.find(filter).sort(oldest_first).limit(documents).hint(by_index);
        let mut cursor = find.projection(doc! { &self.field: 1 }).await?;
        let mut bytes = 0;
        while bytes < CLAIM_BYTES && cursor.advance().await? {
            bytes += self.rows_of(cursor.current(), &mut take);
        }
        Ok(())
    }

    fn rows_of(&self, document: &RawDocument, take: &mut impl FnMut(&RawDocument, &Bson) -> usize) -> usize {
        let Some(id) = convert::field(document, "_id").and_then(|id| Bson::try_from(id).ok()) else { return 0 };
        let Some(rows) = convert::field(document, &self.field).and_then(|rows| rows.as_array()) else { return 0 };
        rows.into_iter().flatten().filter_map(|row| row.as_document()).map(|row| take(row, &id)).sum()
    }

    /// The document with this element, for `$` to stand for it.
    fn element(&self, row: &OutboxRow, condition: Document) -> Document {
        let mut element = doc! { "_id": row.id.bson.clone() };
        element.extend(condition);
        doc! { "_id": row.id.document.clone(), &self.field: { "$elemMatch": element } }
    }

    async fn failing_rows(&self, limit: usize) -> Result<Vec<(OutboxRow, FlowRow, Option<EpochMs>)>, SourceError> {
        let mut failing = Vec::new();
        let mut take = |row: &RawDocument, id: &Bson| {
            if convert::field(row, "last_err").is_some() && failing.len() < limit {
                failing.push((convert::row_of(row, Some(id)), convert::shown(row, Some(id)), convert::retry_at(row)));
            }
            0
        };
        let failed = doc! { format!("{}.last_err", self.field): { "$type": "string" } };
        let documents = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut cursor = self.documents.find(failed).limit(documents).projection(doc! { &self.field: 1 }).await?;
        while cursor.advance().await? {
            self.rows_of(cursor.current(), &mut take);
        }
        failing.sort_by(|(one, ..), (other, ..)| (one.ts, &one.id.text).cmp(&(other.ts, &other.id.text)));
        Ok(failing)
    }

    /// Each document loses its own rows: two may have rows of the same id.
    async fn pull(&self, sent: &[&OutboxRow]) -> Result<(), SourceError> {
        let mut documents: Vec<(&Bson, Vec<Bson>)> = Vec::new();
        for row in sent {
            let (Some(document), Some(id)) = (&row.id.document, row.id.bson.clone()) else { continue };
            match documents.last_mut().filter(|(known, _)| *known == document) {
                Some((_, rows)) => rows.push(id),
                None => documents.push((document, vec![id])),
            }
        }
        let pull = |(document, rows): (&Bson, Vec<Bson>)| {
            doc! { "q": { "_id": document }, "u": { "$pull": { &self.field: { "_id": { "$in": rows } } } } }
        };
        let updates: Vec<Document> = documents.into_iter().map(pull).collect();
        let namespace = self.documents.namespace();
        let command = doc! {
            "update": namespace.coll, "updates": updates, "ordered": false, "writeConcern": { "w": "majority" },
        };
        let answer = self.documents.client().database(&namespace.db).run_command(command).await?;
        // Of such an answer the driver looks at `ok` only.
        match answer.get("writeErrors").or_else(|| answer.get("writeConcernError")) {
            None => Ok(()),
            Some(refused) => Err(SourceError::new(format!("MongoDB did not pull sent rows: {refused}"))),
        }
    }
}

fn rows_index(field: &str) -> String {
    format!("outbox_{field}_rows")
}

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
        // Documents with nothing to claim take no room: any number of them may lie before the others.
        let claimable = doc! { "status": { "$ne": "error" }, "lease_until": { "$not": { "$gt": claim.now } } };
        let mut filter = doc! { &self.field: { "$elemMatch": claimable } };
        filter.extend(of_buckets(claim.buckets, "$_id".into()).into_iter().flatten());
        if !claim.held.is_empty() {
            let held: Vec<Bson> = claim.held.iter().flat_map(|lane| convert::meanings_of(lane)).collect();
            filter.insert("_id", doc! { "$nin": held });
        }
        let mut rows: Vec<OutboxRow> = Vec::new();
        let take = |row: &RawDocument, id: &Bson| {
            let is_error = convert::retry_at(row).is_none();
            let known = convert::row_of(row, Some(id));
            if is_error || is_held(&known, claim.held) || rows.len() >= claim.rows {
                return 0;
            }
            let bytes = known.bytes();
            rows.push(known);
            bytes
        };
        self.each_row(filter, claim.rows, take).await?;
        Ok(rows)
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<(), SourceError> {
        if !settlement.sent.is_empty() {
            self.pull(settlement.sent).await?;
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
        let field = format!("${}", self.field);
        let rows = doc! { "$cond": [{ "$isArray": &field }, &field, []] };
        let waiting = doc! { "$filter": { "input": rows, "cond": { "$ne": ["$$this.status", "error"] } } };
        let counted = doc! { "$group": {
            "_id": Bson::Null, "rows": { "$sum": { "$size": "$waiting" } }, "oldest": { "$min": { "$min": "$waiting.ts" } },
        } };
        let has_rows = doc! { &self.field: { "$elemMatch": { "status": { "$ne": "error" } } } };
        let stages = [doc! { "$match": has_rows }, doc! { "$project": { "waiting": waiting } }, counted];
        let mut cursor = self.documents.aggregate(stages).hint(Hint::Name(rows_index(&self.field))).await?;
        let errors = self.failing_rows(CHANGED_ROWS).await?.iter().filter(|(_, _, retry)| retry.is_none()).count();
        let errors = u64::try_from(errors).unwrap_or(u64::MAX);
        if !cursor.advance().await? {
            return Ok(Backlog { errors, ..Backlog::default() });
        }
        let pending = convert::number(cursor.current(), "rows").and_then(|rows| u64::try_from(rows).ok());
        let oldest = convert::number(cursor.current(), "oldest");
        Ok(Backlog { pending: pending.unwrap_or_default(), errors, oldest })
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
            let shown = convert::shown(row, Some(id));
            if is_wanted(&shown, query) && rows.len() < limit {
                rows.push(shown);
            }
            0
        };
        self.each_row(Document::new(), SHOWN_ROWS, take).await?;
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
