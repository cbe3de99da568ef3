//! What PostgreSQL and SQLite have in common.

use prom_types::EpochMs;

use super::buckets::{BucketSet, bucket_id};
use super::error::SourceError;
use super::row::{OutboxRow, RowId, headers_of_text, payload_of_text};

/// A hub that is gone for this long is forgotten.
pub const FORGOTTEN_MS: i64 = 60 * 60 * 1000;

/// The columns of a row as they are read, in this order.
pub type RowColumns = (String, String, Option<String>, Option<String>, Option<String>, EpochMs, i64);

pub fn row_of((id, topic, payload, headers, key, ts, attempts): RowColumns) -> OutboxRow {
    OutboxRow {
        id: RowId::text(id),
        topic,
        payload: payload_of_text(payload),
        headers: headers_of_text(headers.as_deref()),
        lane: key.clone(),
        key,
        ts,
        attempts: u32::try_from(attempts).unwrap_or_default(),
    }
}

pub fn ids(buckets: BucketSet) -> Vec<String> {
    buckets.iter().map(bucket_id).collect()
}

/// A table is missing, or is not as documented.
pub fn explain(error: sqlx::Error, table: &str) -> SourceError {
    let is_shape = error.as_database_error().is_some_and(|error| {
        let said = error.message();
        said.contains("no such") || said.contains("does not exist")
    });
    let told = SourceError::from(error);
    if is_shape {
        return told.fix(format!("make {table} and {table}_claims as docs/guide/outbox.md shows"));
    }
    told
}

/// The part of a name that other names are made of: `outbox` of `shop.outbox` gives `shop.outbox_claims`.
pub fn claims_of(table: &str) -> String {
    format!("{table}_claims")
}
