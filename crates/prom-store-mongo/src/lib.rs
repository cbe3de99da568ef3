//! The store on a MongoDB replica set: the same promises as the embedded one, kept for many hubs at once.
//!
//! ```text
//!   commit ─▶ lane of the log ─▶ one insert of one batch, journaled by a majority ─▶ answer, readers woken
//!                                        │
//!              other hubs ◀── change stream
//! ```
//!
//! A batch is one document whose key orders all batches of all logs; an append is one insert behind the last
//! batch. Two hubs that append at once want the same key: one gets it, the other reads what was written and goes
//! behind it. So offsets have no gaps, and whoever appends has seen everything before.
//!
//! Read `commit/` for the way in, `read` for the way out, `follow` for what other hubs do, `queries` for
//! everything that is asked of the database.

mod boot_clock;
mod codec;
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
mod trim;

pub use compact::ACTIVE_BATCHES;
pub use options::{LeaseClock, MongoOptions, Sizes, Times};
pub use store::MongoStore;
