//! `GET /topics/{topic}/snapshots` and `POST /topics/{topic}/snapshot`: the state of a topic, written down.

use prom_types::{EpochMs, Offset, TopicName};
use serde::{Deserialize, Serialize};

use super::problem::ProblemDocument;

/// The complete snapshots of a topic, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnapshotList {
    pub topic: TopicName,
    pub snapshots: Vec<SnapshotView>,
}

/// A complete snapshot, and how a cold start reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnapshotView {
    pub id: String,
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub began_ts: EpochMs,
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub ended_ts: EpochMs,
    /// Live keys.
    pub count: u64,
    /// Every event that was ever published up to what it covers went into it. Otherwise retention was faster.
    pub whole: bool,
    /// The topic that holds it.
    pub snapshot_topic: TopicName,
    /// `next` of `GET /replay` of the topic that holds it, where it begins. In each partition it ends with its marker.
    pub snapshot_next: String,
    /// `next` of `GET /replay` of the topic itself, for the events after it.
    pub events_next: String,
    pub partitions: Vec<SnapshotPartitionView>,
}

/// A snapshot in one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnapshotPartitionView {
    pub partition: u32,
    /// The first offset of the topic that it does not cover.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub covered_offset: Offset,
    /// Everything that it covers was stored by then.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub covered_ts: EpochMs,
    /// The offset of its first event in the topic that holds it.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub first: Offset,
    /// The offset of its marker there.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub marker: Offset,
}

/// One line of the answer. The last one is `done` or `error`; without an end the hub goes on by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SnapshotReport {
    /// Live keys that are written.
    Progress(u64),
    /// The snapshot; where nothing is new, the one before.
    Done(SnapshotView),
    /// It cannot go on.
    Error(Box<ProblemDocument>),
}
