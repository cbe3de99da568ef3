//! `POST /groups/{group}/release` takes leases back from their holders.

use prom_types::{EventId, GroupName, TopicName};
use serde::{Deserialize, Serialize};

/// The body of `POST /groups/{group}/release`: one event by its offset or its id, the leases of a member, or, with
/// neither, all leases of the group in the topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReleaseLeases {
    pub topic: TopicName,
    /// Of the offset. 0 unless given; needed where the topic has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<EventId>,
    /// As `GET /groups/{group}` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
}

/// The answer to `POST /groups/{group}/release`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReleasedLeasesView {
    pub topic: TopicName,
    pub group: GroupName,
    /// What was taken back, by partition and offset.
    pub released: Vec<ReleasedLeaseView>,
}

/// A lease that was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReleasedLeaseView {
    pub partition: u32,
    pub offset: u64,
    /// Who held it.
    pub member: Option<String>,
}
