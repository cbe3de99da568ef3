//! Logs: the events of one partition of one topic, in offset order.
//!
//! ```text
//!        start                                   next
//!          │                                      │
//!   ░░░░░░ 7  8  9  ·  11 12  ·  ·  15 16 17 18 19
//!   trimmed          holes left by compaction      the next append
//! ```

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use prom_types::{EpochMs, EventId, Offset, TopicName};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::{Damage, Record, StoreError};

/// One partition of one topic.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LogName {
    pub topic: TopicName,
    pub partition: u32,
}

impl LogName {
    pub fn new(topic: TopicName, partition: u32) -> Self {
        Self { topic, partition }
    }

    /// Whether both share the same allocation: fast, but may miss that two names are equal.
    pub fn is_same(&self, other: &Self) -> bool {
        self.partition == other.partition && self.topic.is_same(&other.topic)
    }
}

impl fmt::Display for LogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topic, self.partition)
    }
}

impl fmt::Debug for LogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The settings of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// Every event has a key. The latest event of each key can be looked up and survives compaction.
    pub compacted: bool,
    /// The newest offset of each key is kept, also where retention has removed the event. Implied by `compacted`.
    pub versions: bool,
}

impl LogOptions {
    /// Whether the newest offset of each key is kept.
    pub fn keeps_latest(self) -> bool {
        self.compacted || self.versions
    }
}

/// Where a log begins and ends. `start == next` means it is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The first offset that may still exist.
    pub start: Offset,
    /// The offset that the next append gets.
    pub next: Offset,
}

/// A log in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogInfo {
    pub log: LogName,
    pub options: LogOptions,
    pub bounds: Bounds,
    /// Bytes of its events, as far as the store knows without reading.
    pub bytes: u64,
    pub last_stored_ts: EpochMs,
}

/// When a read stops. It returns at least one event if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimit {
    pub events: usize,
    pub bytes: usize,
}

impl Default for ReadLimit {
    fn default() -> Self {
        Self { events: 4096, bytes: 1024 * 1024 }
    }
}

impl From<usize> for ReadLimit {
    /// This many events, as long as their bytes are within the default.
    fn from(events: usize) -> Self {
        Self { events, ..Self::default() }
    }
}

/// The result of a read.
#[derive(Debug, Clone, Default)]
pub struct ReadBatch {
    /// In offset order; offsets may have holes.
    pub records: Vec<Record>,
    /// Where to continue. What lies between the requested offset and here and is not in `records` does not exist (any
    /// more). Equal to `bounds.next` at the end of the log.
    pub next: Offset,
    pub bounds: Bounds,
    /// Offsets before `next` that exist but cannot be read.
    pub damage: Option<Damage>,
}

/// What to look for in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Find {
    /// The first event with `stored_ts` at or after this.
    StoredAt(EpochMs),
    /// The event with this id.
    Id(EventId),
    /// The first offset after which at most this many bytes of events remain, as precisely as the store knows without
    /// reading them.
    RemainingBytes(u64),
}

/// How a log is compacted.
///
/// ```text
///   0 ───────────────── before ─────────── next
///   a  b  a  c  b  ·  a │ a  b  a
///   ×  ×  ×     ×       │ kept, and they replace nothing
/// ```
#[derive(Clone, Copy)]
pub struct CompactPlan<'a> {
    /// Events at or beyond this stay, and what they replaced stays too: the state of the log at any offset from here on is the
    /// same as before.
    pub before: Offset,
    /// How long a tombstone stays after it was first cleaned.
    pub tombstone_grace: Duration,
    /// Bytes that are read each second at the most.
    pub bytes_per_s: Option<u64>,
    /// Asked once, before the first event goes.
    pub announce: Option<&'a dyn Announce>,
}

/// Learns that a compaction is about to remove events.
#[async_trait]
pub trait Announce: Send + Sync {
    /// Whether it may.
    async fn may_remove(&self) -> bool;
}

impl CompactPlan<'static> {
    /// Everything that a later event replaced, at once.
    pub fn everything(tombstone_grace: Duration) -> Self {
        Self { before: Offset::MAX, tombstone_grace, bytes_per_s: None, announce: None }
    }
}

/// What a compaction did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompactReport {
    pub events_before: u64,
    pub events_after: u64,
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// Tells a reader that a log's bounds moved, without polling.
#[derive(Debug, Clone)]
pub struct HeadWatch(watch::Receiver<Bounds>);

impl HeadWatch {
    pub fn new(receiver: watch::Receiver<Bounds>) -> Self {
        Self(receiver)
    }

    pub fn bounds(&mut self) -> Bounds {
        *self.0.borrow_and_update()
    }

    /// Ready when the bounds have moved since the last call of `bounds`; `Closed` when the store has closed.
    pub async fn changed(&mut self) -> Result<(), StoreError> {
        self.0.changed().await.map_err(|_| StoreError::Closed)
    }
}

/// Reading and maintaining logs. A log that was never appended to is empty.
#[async_trait]
pub trait Logs: Send + Sync {
    /// Events at or after `from`. Below `start` it begins at `start`; beyond `next` it is empty.
    async fn read(&self, log: &LogName, from: Offset, limit: ReadLimit) -> Result<ReadBatch, StoreError>;

    async fn bounds(&self, log: &LogName) -> Result<Bounds, StoreError>;

    /// For waiting on new events. The log need not exist yet.
    fn watch(&self, log: &LogName) -> HeadWatch;

    /// The offset of the event; `None` if there is none.
    async fn find(&self, log: &LogName, what: Find) -> Result<Option<Offset>, StoreError>;

    /// The latest event of each key; `None` if there is none, it is a tombstone, or retention took it.
    /// Only for logs that keep the newest offset of each key; scans nothing.
    async fn latest_by_key(&self, log: &LogName, keys: &[&str]) -> Result<Vec<Option<Record>>, StoreError>;

    /// Forgets everything before `before`. The start moves at once and durably; space is freed later.
    async fn trim(&self, log: &LogName, before: Offset) -> Result<Bounds, StoreError>;

    /// Drops events of a compacted log that a later event of the same key replaced, and tombstones that were first cleaned
    /// more than a grace ago, as far as the plan goes. Never touches the newest events.
    async fn compact(&self, log: &LogName, plan: CompactPlan<'_>) -> Result<CompactReport, StoreError>;

    /// All logs, by name.
    async fn logs(&self) -> Result<Vec<LogInfo>, StoreError>;
}
