//! Marks in a table of PostgreSQL or SQLite, in the caller's transaction.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sqlx::{AssertSqlSafe, Error, PgConnection, SqliteConnection};

use super::{ONCE_TTL, OnceMarks};

/// Old marks are removed this often, with a mark.
const SWEEP_MS: i64 = 60 * 60 * 1000;

/// Marks as rows `(mark, at)`. Old ones go every hour, with a mark.
#[derive(Debug)]
pub struct SqlMarks {
    table: String,
    ttl_ms: i64,
    /// When old ones were removed last.
    swept: AtomicI64,
}

/// Choose a name of small letters, digits and `_`.
#[derive(Debug, thiserror::Error)]
#[error("{table:?} is no plain name of a table: small letters, digits and _")]
pub struct UnfitTable {
    /// What was given.
    pub table: String,
}

impl SqlMarks {
    /// In this table, for [`ONCE_TTL`].
    pub fn new(table: &str) -> Result<Self, UnfitTable> {
        Self::with_ttl(table, ONCE_TTL)
    }

    /// As [`SqlMarks::new`], with another time.
    pub fn with_ttl(table: &str, ttl: Duration) -> Result<Self, UnfitTable> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let begins_well = table.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
        if !begins_well || table.len() > 63 || !table.bytes().all(is_plain) {
            return Err(UnfitTable { table: table.chars().take(100).collect() });
        }
        let ttl_ms = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
        Ok(Self { table: table.to_owned(), ttl_ms, swept: AtomicI64::new(0) })
    }

    /// What makes the table: run these once, before the first mark.
    pub fn schema(&self) -> [String; 2] {
        let table = &self.table;
        [
            format!("CREATE TABLE IF NOT EXISTS {table} (mark TEXT PRIMARY KEY, at BIGINT NOT NULL)"),
            format!("CREATE INDEX IF NOT EXISTS {table}_at ON {table} (at)"),
        ]
    }

    /// Before which marks are old, once in an hour.
    fn sweep_before(&self, now: i64) -> Option<i64> {
        let swept = self.swept.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(swept) >= SWEEP_MS;
        let is_ours = is_due && self.swept.compare_exchange(swept, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        is_ours.then(|| now.saturating_sub(self.ttl_ms))
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The two databases differ in nothing that is used here. The name of the table was checked.
macro_rules! marks_in {
    ($connection:ty) => {
        impl OnceMarks<$connection> for SqlMarks {
            type Error = Error;

            async fn mark(&self, transaction: &mut $connection, mark: &str) -> Result<bool, Error> {
                let (table, now) = (&self.table, now_ms());
                if let Some(before) = self.sweep_before(now) {
                    let sweep = AssertSqlSafe(format!("DELETE FROM {table} WHERE at < $1"));
                    sqlx::query(sweep).bind(before).execute(&mut *transaction).await?;
                }
                let insert = format!("INSERT INTO {table} (mark, at) VALUES ($1, $2) ON CONFLICT DO NOTHING");
                let insert = sqlx::query(AssertSqlSafe(insert)).bind(mark).bind(now);
                Ok(insert.execute(&mut *transaction).await?.rows_affected() == 1)
            }
        }
    };
}

marks_in!(PgConnection);
marks_in!(SqliteConnection);
