//! An outbox that is a table in PostgreSQL.
//!
//! Promises: no lock is taken that a writer's commit could wait for, and nothing is notified: the drainer polls, quickly while
//! rows come. A claim costs the same however many dead rows an old transaction keeps in the table (see `claim`), and finds
//! what became visible late. Sent rows go early and in small portions, so the table stays small.

mod claim;
mod leases;
mod marks;

use std::str::FromStr;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use prom_jobs::{FlowRow, FlowRowQuery};
use prom_types::EpochMs;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, query, query_as};

use self::claim::ClaimReach;
use super::buckets::ClaimedPart;
use super::error::SourceError;
use super::limits::{CHANGED_ROWS, CONNECT, SHOWN_ROWS};
use super::row::{OutboxRow, RowId};
use super::source::{Backlog, BucketWish, Expired, FailingRow, OutboxSource, RowChange, RowClaim, Settlement};
use super::sql::explain;

/// Draining, counting, and an operator's question at the same time.
const CONNECTIONS: u32 = 3;

pub struct PostgresSource {
    pool: PgPool,
    table: String,
    /// Up to where rows are done.
    reach: Mutex<Option<ClaimReach>>,
}

impl PostgresSource {
    pub async fn open(url: &str, table: &str) -> Result<Self, SourceError> {
        let options = PgConnectOptions::from_str(url)?.application_name("prom outbox").disable_statement_logging();
        // Statistics of a table that fills and empties are always wrong. Both indexes are the only good ways in. A mark that is
        // lost in a crash of the server is made again, and the event is not stored twice.
        let options = options.options([
            ("enable_seqscan", "off"),
            ("enable_bitmapscan", "off"),
            ("synchronous_commit", "off"),
            ("idle_in_transaction_session_timeout", "60s"),
        ]);
        let pool =
            PgPoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(CONNECT).connect_with(options).await?;
        let source = Self { pool, table: table.to_owned(), reach: Mutex::new(None) };
        source.prepare().await?;
        Ok(source)
    }

    async fn prepare(&self) -> Result<(), SourceError> {
        leases::prepare(&self.pool, &self.table).await.map_err(|error| self.explain(error))?;
        self.failing(1).await.map(drop)
    }

    fn explain(&self, error: sqlx::Error) -> SourceError {
        explain(error, &self.table)
    }

    fn sql(&self, text: &str) -> AssertSqlSafe<String> {
        sql(text, &self.table)
    }
}

/// A statement about this table, whose name was checked.
fn sql(text: &str, table: &str) -> AssertSqlSafe<String> {
    AssertSqlSafe(text.replace("{outbox}", table))
}

#[async_trait]
impl OutboxSource for PostgresSource {
    async fn buckets(&self, wish: &BucketWish<'_>) -> Result<Vec<ClaimedPart>, SourceError> {
        leases::wish(&self.pool, &self.table, wish).await.map_err(|error| self.explain(error))
    }

    async fn claim(&self, claim: &RowClaim<'_>) -> Result<Vec<OutboxRow>, SourceError> {
        let from = self.reach.lock().take();
        let claimed = claim::claim(&self.pool, &self.table, claim, from).await;
        let (rows, reach) = claimed.map_err(|error| self.explain(error))?;
        *self.reach.lock() = reach;
        Ok(rows)
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<(), SourceError> {
        marks::settle(&self.pool, &self.table, settlement).await.map_err(|error| self.explain(error))
    }

    async fn failing(&self, limit: usize) -> Result<Vec<FailingRow>, SourceError> {
        let text = "SELECT _id, key, status, lease_until FROM {outbox} \
                    WHERE last_err IS NOT NULL AND status IN ('pending', 'error') ORDER BY ts, _id LIMIT $1";
        type Columns = (String, Option<String>, String, Option<EpochMs>);
        let rows: Vec<Columns> = query_as(self.sql(text))
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch_all(&self.pool)
            .await
            .map_err(|error| self.explain(error))?;
        let failing = rows.into_iter().map(|(id, lane, status, until)| FailingRow {
            id: RowId::text(id),
            lane,
            retry_at: (status != "error").then(|| until.unwrap_or_default()),
        });
        Ok(failing.collect())
    }

    async fn backlog(&self) -> Result<Backlog, SourceError> {
        // With what is known to be done left out: dead rows before it cost as much as live ones. While rows fail, others may wait
        // behind them.
        let from = self.reach.lock().as_ref().map(|reach| reach.ts).unwrap_or(EpochMs::MIN);
        let text = "SELECT count(*), min(ts), \
                    (SELECT count(*) FROM {outbox} WHERE last_err IS NOT NULL AND status = 'error') \
                    FROM {outbox} WHERE status = 'pending' AND ts >= CASE WHEN EXISTS (SELECT FROM {outbox} \
                    WHERE last_err IS NOT NULL AND status IN ('pending', 'error')) \
                    THEN '-9223372036854775808'::bigint ELSE $1 END";
        let row: (i64, Option<EpochMs>, i64) =
            query_as(self.sql(text)).bind(from).fetch_one(&self.pool).await.map_err(|error| self.explain(error))?;
        let count = |number: i64| u64::try_from(number).unwrap_or_default();
        Ok(Backlog { pending: count(row.0), oldest: row.1, errors: count(row.2) })
    }

    async fn arrived(&self, poll: Duration) -> Result<(), SourceError> {
        tokio::time::sleep(poll).await;
        Ok(())
    }

    async fn expire(&self, sent_before: EpochMs) -> Result<Expired, SourceError> {
        marks::expire(&self.pool, &self.table, sent_before).await.map_err(|error| self.explain(error))
    }

    async fn rows(&self, wanted: &FlowRowQuery) -> Result<Vec<FlowRow>, SourceError> {
        let text = "SELECT _id, topic, key, status, ts, attempts, last_err FROM {outbox} \
                    WHERE ($1::text IS NULL OR status = $1) AND ($2::text IS NULL OR topic = $2) \
                    AND ($3::text IS NULL OR key = $3) AND ($4::text[] IS NULL OR _id = ANY($4)) \
                    ORDER BY ts, _id LIMIT $5";
        type Columns = (String, String, Option<String>, String, EpochMs, i32, Option<String>);
        let limit = wanted.limit.unwrap_or(SHOWN_ROWS).min(SHOWN_ROWS);
        let rows: Vec<Columns> = query_as(self.sql(text))
            .bind(&wanted.status)
            .bind(&wanted.topic)
            .bind(&wanted.key)
            .bind((!wanted.ids.is_empty()).then_some(&wanted.ids))
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch_all(&self.pool)
            .await
            .map_err(|error| self.explain(error))?;
        let shown = rows.into_iter().map(|(id, topic, key, status, ts, attempts, last_err)| FlowRow {
            id,
            topic,
            key,
            status,
            ts,
            attempts: u32::try_from(attempts).unwrap_or_default(),
            last_err,
        });
        Ok(shown.collect())
    }

    async fn change(&self, change: RowChange, wanted: &FlowRowQuery) -> Result<u64, SourceError> {
        let these = "_id IN (SELECT _id FROM {outbox} WHERE last_err IS NOT NULL AND status = 'error' \
                     AND ($1::text IS NULL OR status = $1) AND ($2::text IS NULL OR topic = $2) \
                     AND ($3::text IS NULL OR key = $3) AND ($4::text[] IS NULL OR _id = ANY($4)) \
                     ORDER BY ts, _id LIMIT $5 FOR UPDATE SKIP LOCKED)";
        let text = match change {
            RowChange::Requeue => format!(
                "UPDATE {{outbox}} SET status = 'pending', attempts = 0, last_err = NULL, lease_until = NULL, \
                 claimed_by = NULL WHERE {these}"
            ),
            RowChange::Drop => format!("DELETE FROM {{outbox}} WHERE {these}"),
        };
        let limit = wanted.limit.unwrap_or(CHANGED_ROWS).min(CHANGED_ROWS);
        let done = query(self.sql(&text))
            .bind(&wanted.status)
            .bind(&wanted.topic)
            .bind(&wanted.key)
            .bind((!wanted.ids.is_empty()).then_some(&wanted.ids))
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .execute(&self.pool)
            .await
            .map_err(|error| self.explain(error))?;
        Ok(done.rows_affected())
    }
}
