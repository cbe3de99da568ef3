//! `POST /topics/{topic}/cutover`: a topic's history as its latest version has it. The answer comes in lines.

use prom_types::TopicName;
use serde::{Deserialize, Serialize};

use super::problem::ProblemDocument;
use super::snapshot::SnapshotView;

/// The body of `POST /topics/{topic}/cutover`. Without a target the events go to `<topic>.v<N>`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CutoverRequest {
    /// The topic that the events go to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub to: Option<TopicName>,
    /// The collection that the latest event of each key goes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "processes"))]
    pub to_collection: Option<String>,
    /// Write the latest event of each key to `<topic>.snapshot.v<N>`, sorted and closed with a marker.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub to_snapshot: bool,
    /// Fields of the payload that lists of the collection can be filtered by, such as `status` or `address.city`; at most 8.
    /// They are declared when it is made, and stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false, example = json!(["status"])))]
    pub fields: Vec<String>,
    /// Leave out events that cannot be brought to the version, and count them. Otherwise the first one ends it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub skip_unfit: bool,
}

/// One line of the answer. The last one is `done` or `error`; after an error, or without an end, asking again goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CutoverReport {
    /// How far it is.
    Progress(CutoverCounts),
    /// Everything that was stored when it began is over.
    Done(CutoverResult),
    /// It cannot go on.
    Error(Box<ProblemDocument>),
}

/// Events so far, those of earlier runs included. A snapshot is counted by itself: one event for each live key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CutoverCounts {
    pub read: u64,
    /// Stored in the target.
    pub written: u64,
    /// The target had them already, by their id.
    pub already: u64,
    /// Left out: they cannot be brought to the version, or have no key for a collection.
    pub skipped: u64,
    /// Those among the skipped that have no key.
    pub without_key: u64,
    /// They exist and cannot be read.
    pub unreadable: u64,
    /// Left to read, as far as offsets tell.
    pub left: u64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CutoverResult {
    pub topic: TopicName,
    /// A topic, or `collection NAME`.
    pub to: String,
    /// The version that the events were brought to.
    pub version: u32,
    #[serde(flatten)]
    pub counts: CutoverCounts,
    /// What earlier runs had read; as many as `read` if this one found nothing new.
    #[serde(default)]
    pub read_before: u64,
    /// Whether `read` is `written` and `already` and `skipped`, and every key of a snapshot was read.
    pub adds_up: bool,
    /// The snapshot that was asked for, and how a cold start reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub snapshot: Option<SnapshotView>,
}
