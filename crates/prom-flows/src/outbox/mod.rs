//! Outboxes: rows that a service writes in its own transaction become events.
//!
//! ```text
//!   the service's transaction ─▶ row ─▶ bucket of its key ─▶ claim ─▶ publish (id of the row, exact) ─▶ mark
//!                                           └─ one hub at a time, by a lease
//! ```
//!
//! Promises: a row that was committed becomes one event, however often hubs are killed: the event has the id of the row, and
//! its id is unique for as long as it is retained. Rows of one key are published in the order (`ts`, `_id`) among those that
//! are visible, also with several hubs. A row that cannot be published stops its key and no other, and nothing it holds up
//! is lost. No lock is taken on what writers commit.
//!
//! Read `source` for what a database has to do, `buckets` for how hubs share the work, `drain` for the loop, `publish` for
//! what happens around bad rows; `mongo`, `postgres` and `sqlite` are the databases.
#![allow(missing_docs, reason = "within the module; what leaves it is documented")]

mod buckets;
mod drain;
mod error;
mod flow;
mod held;
mod limits;
mod meters;
mod mongo;
mod options;
mod postgres;
mod publish;
mod row;
mod source;
mod sql;
mod sqlite;

pub use flow::OutboxFlow;
pub use limits::LARGEST_BATCH;
pub use options::{OnError, OutboxOptions, OutboxPlace, is_table_name};

/// The tables that a service makes in PostgreSQL.
pub const POSTGRES_DDL: &str = include_str!("ddl/postgres.sql");
/// The tables that a service makes in SQLite.
pub const SQLITE_DDL: &str = include_str!("ddl/sqlite.sql");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_shows_the_tables_as_they_are() {
        let guide = include_str!("../../../../docs/guide/outbox.md");
        assert!(guide.contains(POSTGRES_DDL) && guide.contains(SQLITE_DDL), "copy the tables of ddl/ into the guide");
    }
}
