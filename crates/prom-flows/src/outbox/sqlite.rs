//! An outbox that is a table in a SQLite file of this machine.
//!
//! Reading takes a snapshot and hinders no writer. SQLite has one writer at a time: taking buckets and marking are short
//! transactions that begin as writers, so they wait for their turn and never have to give way halfway. A hub polls, quickly
//! while rows come.

use std::str::FromStr;
use std::time::Duration;

use async_trait::async_trait;
use futures::TryStreamExt as _;
use prom_jobs::{FlowRow, FlowRowQuery};
use prom_types::EpochMs;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _, SqliteConnection, query, query_as, query_scalar};

use super::buckets::{BucketSet, ClaimPart, ClaimedPart, hub_id};
use super::error::SourceError;
use super::limits::{CALL, CHANGED_ROWS, CLAIM_BYTES, EXPIRE_ROWS, SHOWN_ROWS};
use super::row::{OutboxRow, RowId};
use super::source::{
    Backlog, BucketWish, Expired, FailedRow, FailingRow, HubPresence, OutboxSource, RowChange, RowClaim, Settlement,
};
use super::sql::{FORGOTTEN_MS, explain, ids, row_of};

/// One that writes, one that counts and answers.
const CONNECTIONS: u32 = 2;
/// How long a transaction waits for writers before it.
const BUSY: Duration = Duration::from_secs(10);
const NOW: &str = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)";
/// SQLite has no hash; the length and the last two characters tell most keys apart.
const BUCKET: &str = "((length(coalesce(key, _id)) * 31 + coalesce(unicode(substr(coalesce(key, _id), -1, 1)), 0) \
                      + coalesce(unicode(substr(coalesce(key, _id), -2, 1)), 0) * 7) & 31)";
const WANTED_BY_PEOPLE: &str = "(?1 IS NULL OR status = ?1) AND (?2 IS NULL OR topic = ?2) AND (?3 IS NULL OR key = ?3) \
                                AND (?4 IS NULL OR CASE typeof(_id) WHEN 'text' THEN _id ELSE hex(_id) END \
                                IN (SELECT value FROM json_each(?4))) ORDER BY ts, _id LIMIT ?5";
/// A column takes values of any type, and one that is read as another would fail the whole answer. So each is read as what it
/// may be: `_id` in hexadecimal where it is no text, and texts as their bytes. No name is one of a column, which is what rows go by.
const ID: &str = "CASE typeof(_id) WHEN 'text' THEN _id ELSE hex(_id) END AS id_read";
const ROW: &str = "typeof(_id) AS id_kind, CAST(topic AS BLOB) AS topic_read, CAST(payload AS BLOB) AS payload_read, \
                   CAST(headers AS BLOB) AS headers_read, CAST(key AS BLOB) AS key_read, CAST(ts AS INTEGER) AS ts_read, \
                   CAST(coalesce(attempts, 0) AS INTEGER) AS attempts_read";

pub struct SqliteSource {
    pool: SqlitePool,
    table: String,
}

impl SqliteSource {
    pub async fn open(url: &str, table: &str) -> Result<Self, SourceError> {
        let options = SqliteConnectOptions::from_str(url)?.create_if_missing(false).busy_timeout(BUSY);
        let options = options.disable_statement_logging();
        let pool = SqlitePoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(CALL);
        let pool = pool.after_connect(|connection, _| Box::pin(wait_less(connection)));
        let pool = pool.connect_with(options).await?;
        let source = Self { pool, table: table.to_owned() };
        source.prepare().await.map_err(|error| explain(error, table))?;
        Ok(source)
    }

    async fn prepare(&self) -> Result<(), sqlx::Error> {
        let text =
            "INSERT INTO {outbox}_claims (_id) SELECT value FROM json_each(?1) WHERE true ON CONFLICT DO NOTHING";
        query(self.sql(text)).bind(json(&ids(BucketSet::ALL))).execute(&self.pool).await?;
        query(self.sql("SELECT _id FROM {outbox} WHERE status = 'pending' LIMIT 1")).execute(&self.pool).await.map(drop)
    }

    fn sql(&self, text: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe(text.replace("{outbox}", &self.table))
    }

    async fn wish(&self, wish: &BucketWish<'_>) -> Result<Vec<ClaimedPart>, sqlx::Error> {
        let lease_ms = i64::try_from(wish.lease.as_millis()).unwrap_or(i64::MAX);
        let own = hub_id(wish.holder);
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        match wish.presence {
            HubPresence::Here => {
                let text = format!(
                    "INSERT INTO {{outbox}}_claims (_id, claimed_by, lease_until) VALUES (?1, ?2, {NOW} + ?3) \
                     ON CONFLICT (_id) DO UPDATE SET lease_until = excluded.lease_until"
                );
                let here = query(self.sql(&text)).bind(&own).bind(wish.holder).bind(lease_ms);
                here.execute(&mut *transaction).await?;
            }
            HubPresence::Leaving => {
                let text = self.sql("DELETE FROM {outbox}_claims WHERE _id = ?1");
                query(text).bind(&own).execute(&mut *transaction).await?;
            }
        }
        if !wish.give.is_empty() {
            let text = "UPDATE {outbox}_claims SET claimed_by = NULL, lease_until = 0 \
                        WHERE _id IN (SELECT value FROM json_each(?1)) AND claimed_by = ?2";
            let give = query(self.sql(text)).bind(json(&ids(wish.give))).bind(wish.holder);
            give.execute(&mut *transaction).await?;
        }
        if !wish.take.is_empty() {
            let text = format!(
                "UPDATE {{outbox}}_claims SET claimed_by = ?2, lease_until = {NOW} + ?3 \
                 WHERE _id IN (SELECT value FROM json_each(?1)) \
                 AND (claimed_by = ?2 OR claimed_by IS NULL OR lease_until <= {NOW}) RETURNING _id"
            );
            let take = query_scalar(self.sql(&text)).bind(json(&ids(wish.take))).bind(wish.holder).bind(lease_ms);
            let _taken: Vec<String> = take.fetch_all(&mut *transaction).await?;
        }
        let text = format!("DELETE FROM {{outbox}}_claims WHERE _id LIKE 'hub-%' AND lease_until < {NOW} - ?1");
        query(self.sql(&text)).bind(FORGOTTEN_MS).execute(&mut *transaction).await?;
        let text = format!("SELECT _id, claimed_by, lease_until - {NOW} FROM {{outbox}}_claims");
        let rows: Vec<(String, Option<String>, i64)> = query_as(self.sql(&text)).fetch_all(&mut *transaction).await?;
        transaction.commit().await?;
        let part = |(id, holder, left_ms): (String, Option<String>, i64)| {
            let left = Duration::from_millis(u64::try_from(left_ms).unwrap_or_default());
            ClaimPart::of(&id).map(|part| ClaimedPart { part, holder, left })
        };
        Ok(rows.into_iter().filter_map(part).collect())
    }

    async fn next_rows(&self, claim: &RowClaim<'_>) -> Result<Vec<OutboxRow>, sqlx::Error> {
        let buckets = (claim.buckets != BucketSet::ALL).then(|| json(&claim.buckets.iter().collect::<Vec<u8>>()));
        let text = format!(
            "SELECT {ID}, {ROW} FROM {{outbox}} WHERE status = 'pending' AND (lease_until IS NULL OR lease_until <= ?1) \
             AND (key IS NULL OR CAST(key AS TEXT) NOT IN (SELECT value FROM json_each(?2))) \
             AND (?3 IS NULL OR {BUCKET} IN (SELECT value FROM json_each(?3))) ORDER BY ts, _id LIMIT ?4"
        );
        let asked = query(self.sql(&text)).bind(claim.now).bind(json(&claim.held));
        let limit = i64::try_from(claim.rows).unwrap_or(i64::MAX);
        let mut answer = asked.bind(buckets).bind(limit).fetch(&self.pool);
        let (mut rows, mut bytes) = (Vec::with_capacity(claim.rows), 0);
        while let Some(row) = answer.try_next().await? {
            let row = read(&row)?;
            bytes += row.bytes();
            rows.push(row);
            if bytes >= CLAIM_BYTES {
                break;
            }
        }
        Ok(rows)
    }

    async fn mark(&self, settlement: &Settlement<'_>) -> Result<(), sqlx::Error> {
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        if !settlement.sent.is_empty() {
            let ids: Vec<&str> = settlement.sent.iter().map(|row| row.id.text.as_str()).collect();
            let kept = "UPDATE {outbox} SET status = 'sent', sent_at = ?2, last_err = NULL, lease_until = NULL \
                        WHERE _id IN (SELECT value FROM json_each(?1)) AND status = 'pending'";
            let gone = "DELETE FROM {outbox} WHERE _id IN (SELECT value FROM json_each(?1)) AND status = 'pending'";
            let marking = match settlement.keep_sent.is_zero() {
                true => query(self.sql(gone)).bind(json(&ids)),
                false => query(self.sql(kept)).bind(json(&ids)).bind(settlement.now),
            };
            marking.execute(&mut *transaction).await?;
        }
        for FailedRow { row, reason, retry_at } in settlement.failed {
            let id = if row.id.is_hexadecimal { "hex(_id)" } else { "_id" };
            let text = format!(
                "UPDATE {{outbox}} SET status = ?2, attempts = coalesce(attempts, 0) + 1, last_err = ?3, \
                 lease_until = ?4, claimed_by = ?5 \
                 WHERE {id} = ?1 AND status = 'pending' AND coalesce(attempts, 0) = ?6"
            );
            query(self.sql(&text))
                .bind(&row.id.text)
                .bind(if retry_at.is_some() { "pending" } else { "error" })
                .bind(reason)
                .bind(*retry_at)
                .bind(settlement.holder)
                .bind(i64::from(row.attempts))
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await
    }
}

/// A mark that is lost with the power is made again, and the event is not stored twice. Other journals may need the wait.
async fn wait_less(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let journal: String = query_scalar("PRAGMA journal_mode").fetch_one(&mut *connection).await?;
    if journal == "wal" {
        query("PRAGMA synchronous = NORMAL").execute(connection).await?;
    }
    Ok(())
}

/// What the writer got wrong is told by the row, so that it stops nothing else.
fn read(row: &SqliteRow) -> Result<OutboxRow, sqlx::Error> {
    let text = |name| row.try_get::<Option<Vec<u8>>, _>(name).map(|bytes| bytes.as_deref().map(lossy));
    let is_text = row.try_get::<String, _>("id_kind")? == "text";
    let (topic, key) = (text("topic_read")?.unwrap_or_default(), text("key_read")?);
    let (payload, headers) = (text("payload_read")?, text("headers_read")?);
    let (id, ts, attempts) = (row.try_get("id_read")?, row.try_get("ts_read")?, row.try_get("attempts_read")?);
    let mut known = row_of((id, topic, payload, headers, key, ts, attempts));
    if !is_text {
        known.id.is_hexadecimal = true;
        known.payload = Err("its _id is no text; write a UUID as text".to_owned());
    }
    Ok(known)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Lists are passed as JSON, which SQLite reads as rows.
fn json(list: &impl serde::Serialize) -> String {
    // Writing texts and numbers into memory does not fail.
    serde_json::to_string(list).unwrap_or_default()
}

#[async_trait]
impl OutboxSource for SqliteSource {
    async fn buckets(&self, wish: &BucketWish<'_>) -> Result<Vec<ClaimedPart>, SourceError> {
        self.wish(wish).await.map_err(|error| explain(error, &self.table))
    }

    async fn claim(&self, claim: &RowClaim<'_>) -> Result<Vec<OutboxRow>, SourceError> {
        self.next_rows(claim).await.map_err(|error| explain(error, &self.table))
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<(), SourceError> {
        self.mark(settlement).await.map_err(|error| explain(error, &self.table))
    }

    async fn failing(&self, limit: usize) -> Result<Vec<FailingRow>, SourceError> {
        let text = format!(
            "SELECT {ID}, CAST(key AS BLOB), status, CAST(lease_until AS INTEGER) FROM {{outbox}} \
             WHERE last_err IS NOT NULL AND status IN ('pending', 'error') ORDER BY ts, _id LIMIT ?1"
        );
        type Columns = (String, Option<Vec<u8>>, String, Option<EpochMs>);
        let asked = query_as(self.sql(&text)).bind(i64::try_from(limit).unwrap_or(i64::MAX));
        let rows: Vec<Columns> = asked.fetch_all(&self.pool).await?;
        let failing = rows.into_iter().map(|(id, lane, status, until)| FailingRow {
            id: RowId::text(id),
            lane: lane.as_deref().map(lossy),
            retry_at: (status != "error").then(|| until.unwrap_or_default()),
        });
        Ok(failing.collect())
    }

    async fn backlog(&self) -> Result<Backlog, SourceError> {
        let text = "SELECT count(*), CAST(min(ts) AS INTEGER), \
                    (SELECT count(*) FROM {outbox} WHERE last_err IS NOT NULL AND status = 'error') \
                    FROM {outbox} WHERE status = 'pending'";
        let row: (i64, Option<EpochMs>, i64) = query_as(self.sql(text)).fetch_one(&self.pool).await?;
        let count = |number: i64| u64::try_from(number).unwrap_or_default();
        Ok(Backlog { pending: count(row.0), oldest: row.1, errors: count(row.2) })
    }

    async fn arrived(&self, poll: Duration) -> Result<(), SourceError> {
        tokio::time::sleep(poll).await;
        Ok(())
    }

    async fn expire(&self, sent_before: EpochMs) -> Result<Expired, SourceError> {
        let text = "DELETE FROM {outbox} WHERE _id IN (SELECT _id FROM {outbox} WHERE status = 'sent' AND sent_at < ?1 \
                    ORDER BY sent_at LIMIT ?2)";
        let gone = query(self.sql(text)).bind(sent_before).bind(EXPIRE_ROWS).execute(&self.pool).await?;
        Ok(if gone.rows_affected() < EXPIRE_ROWS.unsigned_abs() { Expired::All } else { Expired::Some })
    }

    async fn rows(&self, wanted: &FlowRowQuery) -> Result<Vec<FlowRow>, SourceError> {
        let text = format!("SELECT status, last_err, {ID}, {ROW} FROM {{outbox}} WHERE {WANTED_BY_PEOPLE}");
        let limit = wanted.limit.unwrap_or(SHOWN_ROWS).min(SHOWN_ROWS);
        let rows: Vec<SqliteRow> = query(self.sql(&text))
            .bind(&wanted.status)
            .bind(&wanted.topic)
            .bind(&wanted.key)
            .bind((!wanted.ids.is_empty()).then(|| json(&wanted.ids)))
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch_all(&self.pool)
            .await?;
        let shown = rows.iter().map(|row| {
            let known = read(row)?;
            Ok::<_, SourceError>(FlowRow {
                id: known.id.text,
                topic: known.topic,
                key: known.key,
                status: row.try_get("status")?,
                ts: known.ts,
                attempts: known.attempts,
                last_err: row.try_get("last_err")?,
            })
        });
        shown.collect()
    }

    async fn change(&self, change: RowChange, wanted: &FlowRowQuery) -> Result<u64, SourceError> {
        let these = format!(
            "_id IN (SELECT _id FROM {{outbox}} WHERE last_err IS NOT NULL AND status = 'error' \
             AND {WANTED_BY_PEOPLE})"
        );
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
            .bind((!wanted.ids.is_empty()).then(|| json(&wanted.ids)))
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .execute(&self.pool)
            .await?;
        Ok(done.rows_affected())
    }
}
