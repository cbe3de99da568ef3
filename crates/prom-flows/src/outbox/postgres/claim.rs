//! Claiming from a table whose dead rows cannot be removed while an old transaction is open.
//!
//! ```text
//!   by (ts, _id):   ✗✗✗✗✗✗✗✗✗✗✗✗✗✗ | pending pending pending …
//!                   done, still there  ^ reach
//! ```
//!
//! A claim that began with the oldest entry of the index would pass all the dead ones, again and again. So it begins where the
//! last one ended. Rows before that may become visible later, when their transactions commit. Each row has the id of its
//! transaction, and the last claim knows which transactions it could not see: those that ran, and all later ones. If one of
//! them brought a row before the reach, the claim begins there. So nothing is skipped, and rows of a key keep their order
//! also when a long transaction and a short one follow each other.
//!
//! The reach is a hint in memory. The first claim, and one a minute, begins with the oldest row.

use futures::TryStreamExt as _;
use prom_types::EpochMs;
use sqlx::postgres::{PgPool, PgRow};
use sqlx::{Row as _, query};

use super::super::buckets::BucketSet;
use super::super::limits::CLAIM_BYTES;
use super::super::row::OutboxRow;
use super::super::source::{Look, RowClaim};
use super::super::sql::row_of;
use super::sql;

/// Up to where rows are done, as far as one snapshot could see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimReach {
    pub ts: EpochMs,
    pub id: String,
    seen: Snapshot,
}

/// Which transactions a claim could not see: those in `running`, and all from `next` on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Snapshot {
    next: String,
    running: Vec<String>,
}

impl Snapshot {
    /// `xmin:xmax:xip,xip,…`
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ':');
        let (_, next, running) = (parts.next()?, parts.next()?, parts.next()?);
        let running = running.split(',').filter(|id| !id.is_empty()).map(str::to_owned).collect();
        Some(Self { next: next.to_owned(), running })
    }
}

/// The condition of a row that may be claimed.
const WANTED: &str = "status = 'pending' AND (lease_until IS NULL OR lease_until <= $1) \
                      AND (key IS NULL OR key <> ALL($2)) \
                      AND ($3::int[] IS NULL OR (hashtext(coalesce(key, _id)) & 31) = ANY($3))";

const COLUMNS: &str = "_id, topic, payload::text AS payload, headers::text AS headers, key, ts, attempts";

fn afresh() -> String {
    format!(
        "WITH now_seen AS MATERIALIZED (SELECT pg_current_snapshot()::text AS seen) \
         SELECT now_seen.seen, found.* FROM now_seen LEFT JOIN LATERAL (SELECT {COLUMNS} FROM {{outbox}} \
         WHERE {WANTED} ORDER BY ts, _id LIMIT $4) found ON true"
    )
}

fn onward() -> String {
    format!(
        "WITH now_seen AS MATERIALIZED (SELECT pg_current_snapshot()::text AS seen), \
         news AS MATERIALIZED ( \
           SELECT ts, _id FROM {{outbox}} WHERE status = 'pending' AND tx >= $7::text::xid8 \
           UNION ALL SELECT ts, _id FROM {{outbox}} WHERE status = 'pending' AND tx = ANY($8::text[]::xid8[])), \
         late AS MATERIALIZED (SELECT ts, _id FROM news WHERE (ts, _id) < ($5, $6) ORDER BY ts, _id LIMIT 1) \
         SELECT now_seen.seen, found.* FROM now_seen LEFT JOIN LATERAL (SELECT {COLUMNS} FROM {{outbox}} \
         WHERE (ts, _id) >= (coalesce((SELECT ts FROM late), $5), coalesce((SELECT _id FROM late), $6)) AND {WANTED} \
         ORDER BY ts, _id LIMIT $4) found ON true"
    )
}

/// The rows, and the reach for the next claim.
pub async fn claim(
    pool: &PgPool,
    table: &str,
    claim: &RowClaim<'_>,
    from: Option<ClaimReach>,
) -> Result<(Vec<OutboxRow>, Option<ClaimReach>), sqlx::Error> {
    let from = from.filter(|_| claim.look == Look::Onward);
    let text = if from.is_some() { onward() } else { afresh() };
    let buckets: Option<Vec<i32>> =
        (claim.buckets != BucketSet::ALL).then(|| claim.buckets.iter().map(i32::from).collect());
    let mut asked = query(sql(&text, table))
        .bind(claim.now)
        .bind(claim.held)
        .bind(buckets)
        .bind(i64::try_from(claim.rows).unwrap_or(i64::MAX));
    if let Some(ClaimReach { ts, id, seen }) = &from {
        asked = asked.bind(ts).bind(id).bind(&seen.next).bind(&seen.running);
    }
    let (mut rows, mut bytes, mut seen) = (Vec::with_capacity(claim.rows), 0, None);
    let mut answer = asked.fetch(pool);
    while let Some(row) = answer.try_next().await? {
        if seen.is_none() {
            seen = Snapshot::parse(&row.try_get::<String, _>("seen")?);
        }
        if row.try_get::<Option<String>, _>("_id")?.is_some() && bytes < CLAIM_BYTES {
            let row = read(&row)?;
            bytes += row.bytes();
            rows.push(row);
        }
    }
    let reach = match (rows.last(), from, seen) {
        (Some(last), _, Some(seen)) => Some(ClaimReach { ts: last.ts, id: last.id.text.clone(), seen }),
        (None, Some(from), Some(seen)) => Some(ClaimReach { seen, ..from }),
        _ => None,
    };
    Ok((rows, reach))
}

fn read(row: &PgRow) -> Result<OutboxRow, sqlx::Error> {
    let attempts: i32 = row.try_get("attempts")?;
    Ok(row_of((
        row.try_get("_id")?,
        row.try_get("topic")?,
        row.try_get("payload")?,
        row.try_get("headers")?,
        row.try_get("key")?,
        row.try_get("ts")?,
        i64::from(attempts),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_says_what_could_not_be_seen() {
        let seen = Snapshot::parse("10:20:10,14").unwrap();
        assert_eq!((seen.next.as_str(), seen.running), ("20", vec!["10".to_owned(), "14".to_owned()]));
        assert_eq!(Snapshot::parse("10:10:").unwrap().running, Vec::<String>::new());
        assert_eq!(Snapshot::parse("10"), None);
    }
}
