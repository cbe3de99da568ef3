//! `GET /trace/{id}`: what led to an event, what it led to, and how groups did with it.

use prom_types::{EpochMs, EventId, GroupName, Offset, TopicName};
use serde::{Deserialize, Serialize};

/// The query of `GET /trace/{id}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct TraceQuery {
    /// Where the event is, if that is known: then only this topic is asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<TopicName>,
}

/// An event with its causes above it and its effects below.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TraceAnswer {
    pub trace: TraceNodeView,
    /// Events that the index of causes has not read yet: effects among them are missing. 0: the tree is exact.
    pub behind: u64,
    /// There is more, which the caller may not see.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: bool,
    /// The tree was cut: at 500 events, or where it is too deep for readers of JSON.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub cut: bool,
}

/// An event in a tree. Of one that is gone, or that the caller may not read, only the id is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TraceNodeView {
    pub id: EventId,
    /// Not given: the event is not there (any more), or the caller may not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub event: Option<TraceEventView>,
    /// It stands elsewhere in the tree with everything about it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub repeated: bool,
    /// Events that led to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false, no_recursion))]
    pub causes: Vec<TraceNodeView>,
    /// Events that it led to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false, no_recursion))]
    pub effects: Vec<TraceNodeView>,
}

/// What is known of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TraceEventView {
    pub topic: TopicName,
    pub partition: u32,
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub offset: Offset,
    /// Whether it is still stored.
    pub retained: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = i64))]
    pub ts: Option<EpochMs>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = i64))]
    pub stored_ts: Option<EpochMs>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub key: Option<String>,
    /// Groups that read the topic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub deliveries: Vec<TraceDeliveryView>,
}

/// How a group does with an event. Failures are known until the event is settled; then only that it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TraceDeliveryView {
    pub group: GroupName,
    pub state: TraceState,
    /// Failed attempts so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub attempts: u32,
    /// Leases that went back because a connection ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub returns: u32,
    /// What the last attempt failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub reason: Option<String>,
    /// Who holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub member: Option<String>,
    /// The hub that serves the group, if it is another one: then whether the event is in flight is not known here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub served_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub letter: Option<TraceLetterView>,
}

/// Where an event is with a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TraceState {
    /// Acked, skipped, filtered out, or before the place where the group began.
    Settled,
    /// A member has it.
    InFlight,
    /// It failed, and is tried again.
    Waiting,
    /// It is to be handed out.
    Queued,
    /// The group gave up on it.
    Dead,
}

/// The dead letter of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TraceLetterView {
    pub id: EventId,
    pub topic: TopicName,
    pub partition: u32,
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub offset: Offset,
    /// What the group gave up with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub err: Option<String>,
    pub attempts: u32,
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub ts: EpochMs,
    /// Events as which it was published again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false, no_recursion))]
    pub replayed: Vec<TraceNodeView>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
