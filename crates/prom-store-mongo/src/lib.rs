//! The store on a MongoDB replica set: the promises of the embedded store, for many hubs at once.
//!
//! ```text
//!   commit ─▶ lane of the log ─▶ one insert of one batch, journaled by a majority ─▶ answer, readers woken
//!                                        │
//!              other hubs ◀── change stream
//! ```
//!
//! A batch is one document whose key orders all batches of all logs. An append is one insert after the last batch.
//! Two hubs that append at the same time want the same key: one gets it, the other reads what was written and goes
//! after it. So offsets have no gaps, and every writer has seen everything before its batch.
//!
//! Read `commit/` for writing, `read` for reading, `follow` for what other hubs do, `queries` for every query to the
//! database, `limits` and `options` for sizes and times.

mod boot_clock;
mod codec;
mod command;
mod commit;
mod compact;
mod cursor;
mod document;
mod exact;
mod fault;
mod find;
mod follow;
mod latest;
mod lease;
mod limits;
mod log;
mod merge;
mod names;
mod open;
mod options;
pub mod queries;
mod read;
mod remove;
mod shared;
mod store;
mod sweep;
mod topology;
mod trim;

pub use limits::ACTIVE_BATCHES;
pub use options::{LeaseClock, MongoOptions, MongoSizes, MongoTimes};
pub use store::MongoStore;
