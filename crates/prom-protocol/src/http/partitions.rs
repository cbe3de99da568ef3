//! `GET /partitions`: who serves the partitions of a topic for a group.

use prom_types::{GroupName, Mode, TopicName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The partitions of a topic as a group reads them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PartitionList {
    pub topic: TopicName,
    pub group: GroupName,
    pub mode: Mode,
    /// Counts changes of members and partitions since the hub started; `null` in shared mode.
    pub generation: Option<u64>,
    /// Whether the group divides a topic of one partition into these.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
    /// Empty in shared mode.
    pub members: Vec<MemberView>,
    pub partitions: Vec<GroupPartitionView>,
}

/// A member and its partitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberView {
    pub member: String,
    /// Its share of the partitions in relation to other members.
    pub weight: u32,
    /// Partitions that go to it first.
    pub pins: Vec<u32>,
    /// How long it may be silent.
    pub ttl_ms: Option<u64>,
    /// What it says about itself.
    pub meta: Option<Value>,
    pub partitions: Vec<u32>,
}

/// One partition and its owner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GroupPartitionView {
    pub partition: u32,
    /// The member that owns it; `null` in shared mode.
    pub owner: Option<String>,
    /// The next owner, while the present one finishes what it holds.
    pub moving_to: Option<String>,
    /// Raised by a change of the owner; in shared mode when another dispatcher takes over or the cursor is moved.
    /// `null` before the first time.
    pub epoch: Option<u64>,
    /// Everything before it is settled; `null` for a virtual partition.
    pub floor: Option<u64>,
    pub next: Option<u64>,
    pub lag_events: Option<u64>,
    pub in_flight: u64,
    /// Subscribers that take from it.
    pub subscribers: u64,
}
