//! `POST /skip` settles one event for a group that cannot get past it.

use prom_types::{EventId, GroupName, TopicName};
use serde::{Deserialize, Serialize};

/// The body of `POST /skip`: an event by its offset or by its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SkipEvent {
    pub topic: TopicName,
    pub group: GroupName,
    /// Of the offset. 0 unless given; needed where the topic has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<EventId>,
}

/// The answer to `POST /skip`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SkippedEventView {
    pub topic: TopicName,
    pub group: GroupName,
    pub partition: u32,
    pub offset: u64,
    /// Its id, if the event is still there.
    pub id: Option<EventId>,
    /// The group had settled it before; nothing was changed.
    pub already_settled: bool,
}
