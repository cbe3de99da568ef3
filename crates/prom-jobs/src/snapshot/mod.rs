//! Snapshots: the state of a topic, one event for each live key, in `<topic>.snapshot`.
//!
//! ```text
//!   topic            0 ─────────────── covered ─────── next
//!                    └── newest of each key ──┐
//!   topic.snapshot   … first  a  b  c  …  z  marker │ the next snapshot …
//!                             sorted by key
//! ```
//!
//! In each partition the payload of an event is the whole original event, and the marker says id, count and covered offset. A
//! snapshot covers exactly the events before the offsets at which the topic stood when it began, whatever is published meanwhile.
//! It is made of the one before it and the events since, or of all events where there is none before it.
//!
//! Promises: what is written and how far it is are one commit, so a crash leaves neither a hole nor a double, and any process
//! goes on. Memory is bounded however many keys there are ([`crate::newest`]). Compaction removes nothing that a snapshot under
//! way needs. The newest complete one is exempt from retention. A snapshot that retention overtook says so (`whole: false`):
//! it holds what was left.

mod build;
mod document;
mod keep;
mod place;
mod read;

pub use build::{SnapshotBuild, SnapshotStep};
pub(crate) use document::complete;
pub use document::{Snapshot, SnapshotPartition};
pub use keep::keep_snapshots;
pub(crate) use place::make_place;
pub use place::snapshot_topic;
pub(crate) use read::{SnapshotReader, find};

use prom_engine::Bus;
use prom_types::TopicName;

use crate::JobError;

/// The header of everything that belongs to a snapshot.
pub(crate) const SNAPSHOT_HEADER: &str = "x-snapshot";

/// The complete snapshots of a topic that can be read, oldest first.
pub async fn snapshots(bus: &Bus, topic: &TopicName) -> Result<Vec<Snapshot>, JobError> {
    let life = bus.history(topic).await?.history.life;
    complete(bus, topic, life).await
}
