//! Marking rows in PostgreSQL. Sent rows go at once, or after a while in small portions.

use prom_types::EpochMs;
use sqlx::postgres::PgPool;
use sqlx::query;

use super::super::limits::EXPIRE_ROWS;
use super::super::source::{Expired, FailedRow, Settlement};
use super::sql;

pub async fn settle(pool: &PgPool, table: &str, settlement: &Settlement<'_>) -> Result<(), sqlx::Error> {
    if !settlement.sent.is_empty() {
        let ids: Vec<&str> = settlement.sent.iter().map(|row| row.id.text.as_str()).collect();
        let kept = "UPDATE {outbox} SET status = 'sent', sent_at = $2, last_err = NULL, lease_until = NULL \
                    WHERE _id = ANY($1) AND status = 'pending'";
        let gone = "DELETE FROM {outbox} WHERE _id = ANY($1) AND status = 'pending'";
        if settlement.keep_sent.is_zero() {
            query(sql(gone, table)).bind(ids).execute(pool).await?;
        } else {
            query(sql(kept, table)).bind(ids).bind(settlement.now).execute(pool).await?;
        }
    }
    for FailedRow { row, reason, retry_at } in settlement.failed {
        let text = "UPDATE {outbox} SET status = $2, attempts = attempts + 1, last_err = $3, lease_until = $4, \
                    claimed_by = $5 WHERE _id = $1 AND status = 'pending' AND attempts = $6";
        query(sql(text, table))
            .bind(&row.id.text)
            .bind(if retry_at.is_some() { "pending" } else { "error" })
            .bind(reason)
            .bind(retry_at)
            .bind(settlement.holder)
            .bind(i32::try_from(row.attempts).unwrap_or(i32::MAX))
            .execute(pool)
            .await?;
    }
    Ok(())
}

pub async fn expire(pool: &PgPool, table: &str, sent_before: EpochMs) -> Result<Expired, sqlx::Error> {
    let text = "DELETE FROM {outbox} WHERE _id IN (SELECT _id FROM {outbox} WHERE status = 'sent' AND sent_at < $1 \
                ORDER BY sent_at LIMIT $2)";
    let gone = query(sql(text, table)).bind(sent_before).bind(EXPIRE_ROWS).execute(pool).await?;
    Ok(if gone.rows_affected() < EXPIRE_ROWS.unsigned_abs() { Expired::All } else { Expired::Some })
}
