//! The vocabulary every other crate speaks: the event and its parts, topic names and patterns,
//! group names, limits, and the hash that places a key in a partition.
//!
//! Promises: no I/O, no async; nothing here asks for the time, it only says how to ask ([`Clock`]). Whatever comes from outside is checked by a
//! constructor here (`parse`, `new`) and is right by type afterwards.

mod clock;
mod error;
mod event;
mod group;
mod hash;
mod headers;
mod id;
mod json;
pub mod limits;
mod pattern;
mod receipt;
mod text;
mod topic;

pub use clock::{Clock, SystemClock};
pub use error::Invalid;
pub use event::{Event, NewEvent};
pub use group::GroupName;
pub use hash::{jump_hash, partition_of};
pub use headers::Headers;
pub use id::{EventId, IdMaker};
pub use json::Json;
pub use pattern::TopicPattern;
pub use receipt::{Durability, Receipt};
pub use topic::TopicName;

/// A position in one partition of one topic: 0, 1, 2…
pub type Offset = u64;

/// Milliseconds since the Unix epoch.
pub type EpochMs = i64;
