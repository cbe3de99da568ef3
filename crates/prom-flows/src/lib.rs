//! Flows between the bus and databases, as a hub runs them.
//!
//! | flow | from | to |
//! | --- | --- | --- |
//! | [`outbox`] | rows that a service wrote in its own transaction: MongoDB, PostgreSQL, SQLite | topics |
//! | [`feed`] | the changes of MongoDB collections | topics |
//! | [`projector`] | a topic | documents, in MongoDB or in the hub's own store |
//!
//! Each shows itself as a [`prom_jobs::Flow`]. What they promise is told where they live.

#![warn(missing_docs)]

pub mod feed;
pub mod outbox;
pub mod projector;

mod patience;
