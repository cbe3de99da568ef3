//! Leases of buckets in PostgreSQL: the table `<outbox>_claims`, a row for each bucket and each hub.
//!
//! The server's clock measures them. Taking one locks its row and compares the old lease; a row that another hub is taking is
//! passed over. Renewing happens a few times per lease, not with each claim: the table stays small under an old transaction.

use std::time::Duration;

use sqlx::postgres::PgPool;
use sqlx::{query, query_as};

use super::super::buckets::{BucketSet, ClaimPart, ClaimedPart, hub_id};
use super::super::source::{BucketWish, HubPresence};
use super::super::sql::{FORGOTTEN_MS, claims_of, ids};
use super::sql;

const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Makes the rows that are missing.
pub async fn prepare(pool: &PgPool, table: &str) -> Result<(), sqlx::Error> {
    let text = "INSERT INTO {outbox} (_id) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING";
    query(sql(text, &claims_of(table))).bind(ids(BucketSet::ALL)).execute(pool).await.map(drop)
}

pub async fn wish(pool: &PgPool, table: &str, wish: &BucketWish<'_>) -> Result<Vec<ClaimedPart>, sqlx::Error> {
    let table = &claims_of(table);
    let lease_ms = i64::try_from(wish.lease.as_millis()).unwrap_or(i64::MAX);
    let own = hub_id(wish.holder);
    let mut transaction = pool.begin().await?;
    match wish.presence {
        HubPresence::Here => {
            let text = format!(
                "INSERT INTO {{outbox}} (_id, claimed_by, lease_until) VALUES ($1, $2, {NOW} + $3) \
                 ON CONFLICT (_id) DO UPDATE SET lease_until = excluded.lease_until"
            );
            let here = query(sql(&text, table)).bind(&own).bind(wish.holder).bind(lease_ms);
            here.execute(&mut *transaction).await?;
        }
        HubPresence::Leaving => {
            query(sql("DELETE FROM {outbox} WHERE _id = $1", table)).bind(&own).execute(&mut *transaction).await?;
        }
    }
    if !wish.give.is_empty() {
        let text = "UPDATE {outbox} SET claimed_by = NULL, lease_until = 0 WHERE _id = ANY($1) AND claimed_by = $2";
        query(sql(text, table)).bind(ids(wish.give)).bind(wish.holder).execute(&mut *transaction).await?;
    }
    if !wish.take.is_empty() {
        let text = format!(
            "WITH free AS (SELECT _id FROM {{outbox}} WHERE _id = ANY($1) \
             AND (claimed_by = $2 OR claimed_by IS NULL OR lease_until <= {NOW}) ORDER BY _id FOR UPDATE SKIP LOCKED) \
             UPDATE {{outbox}} taken SET claimed_by = $2, lease_until = {NOW} + $3 FROM free WHERE taken._id = free._id"
        );
        let take = query(sql(&text, table)).bind(ids(wish.take)).bind(wish.holder).bind(lease_ms);
        take.execute(&mut *transaction).await?;
    }
    let text = format!("DELETE FROM {{outbox}} WHERE _id LIKE 'hub-%' AND lease_until < {NOW} - $1");
    query(sql(&text, table)).bind(FORGOTTEN_MS).execute(&mut *transaction).await?;
    let text = format!("SELECT _id, claimed_by, lease_until - {NOW} FROM {{outbox}}");
    let rows: Vec<(String, Option<String>, i64)> = query_as(sql(&text, table)).fetch_all(&mut *transaction).await?;
    transaction.commit().await?;
    let part = |(id, holder, left_ms): (String, Option<String>, i64)| {
        let left = Duration::from_millis(u64::try_from(left_ms).unwrap_or_default());
        ClaimPart::of(&id).map(|part| ClaimedPart { part, holder, left })
    };
    Ok(rows.into_iter().filter_map(part).collect())
}
