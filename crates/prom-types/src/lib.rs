//! The vocabulary every other crate speaks: the event and its parts, topic names and patterns, group
//! names, the settings of topics and groups, limits, and the hash that places a key in a partition.
//!
//! Promises: no I/O, no async; nothing here reads the time, it only says how to ask for it ([`Clock`]).
//! Input from outside is checked by a constructor here (`parse`, `new`) and is right by type afterwards.

#![warn(missing_docs)]

mod backoff;
mod clock;
mod compaction;
mod error;
mod event;
mod expectation;
mod gap;
mod group;
mod hash;
mod headers;
mod id;
mod json;
pub mod limits;
mod list;
mod mode;
mod order;
mod pattern;
mod position;
mod receipt;
mod retention;
mod snapshot;
mod text;
mod topic;

pub use backoff::Backoff;
pub use clock::{Clock, SystemClock};
pub use compaction::Compaction;
pub use error::Invalid;
pub use event::{Event, NewEvent};
pub use expectation::Expectation;
pub use gap::{Gap, GapReason};
pub use group::GroupName;
pub use hash::{jump_hash, key_hash, partition_of};
pub use headers::Headers;
pub use id::{EventId, IdMaker};
pub use json::Json;
pub use list::read_list;
pub use mode::Mode;
pub use order::Order;
pub use pattern::TopicPattern;
pub use position::Position;
pub use receipt::{Durability, Receipt};
pub use retention::Retention;
pub use snapshot::SnapshotSettings;
pub use topic::TopicName;

/// A position in one partition of one topic: 0, 1, 2…
pub type Offset = u64;

/// Milliseconds since the Unix epoch.
pub type EpochMs = i64;
