//! Rows of an outbox in PostgreSQL and SQLite.

use prom_types::EventId;
use sqlx::{AssertSqlSafe, PgConnection, SqliteConnection, query};

use super::OutboxEvent;

impl OutboxEvent {
    /// Adds it to a table, in the transaction of the connection. The table is named as in a statement: by the service's
    /// code, never by its input.
    pub async fn add_to_postgres(&self, connection: &mut PgConnection, table: &'static str) -> sqlx::Result<EventId> {
        let text = format!(
            "INSERT INTO {table} (_id, topic, payload, headers, key, ts) VALUES ($1, $2, $3::json, $4::json, $5, $6)"
        );
        query(AssertSqlSafe(text))
            .bind(self.id.to_string())
            .bind(self.event.topic.as_str())
            .bind(self.event.payload.as_str())
            .bind(self.headers_text()?)
            .bind(&self.event.key)
            .bind(self.ts)
            .execute(connection)
            .await?;
        Ok(self.id)
    }

    /// Adds it to a table, in the transaction of the connection. The table is named as in a statement: by the service's
    /// code, never by its input.
    pub async fn add_to_sqlite(&self, connection: &mut SqliteConnection, table: &'static str) -> sqlx::Result<EventId> {
        let text =
            format!("INSERT INTO {table} (_id, topic, payload, headers, key, ts) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
        query(AssertSqlSafe(text))
            .bind(self.id.to_string())
            .bind(self.event.topic.as_str())
            .bind(self.event.payload.as_str())
            .bind(self.headers_text()?)
            .bind(&self.event.key)
            .bind(self.ts)
            .execute(connection)
            .await?;
        Ok(self.id)
    }

    fn headers_text(&self) -> sqlx::Result<Option<String>> {
        let text = self.headers().map(serde_json::to_string).transpose();
        text.map_err(|error| sqlx::Error::Encode(error.into()))
    }
}
