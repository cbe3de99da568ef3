//! `POST /replay`: the events of a topic once more, through a jq program, into another topic. The answer comes in lines.

use prom_types::TopicName;
use serde::{Deserialize, Serialize};

use super::problem::ProblemDocument;
use crate::position::PositionFields;

/// The body of `POST /replay`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplayIntoRequest {
    /// The topic whose events are read.
    pub topic: TopicName,
    /// The topic that they go to.
    pub to: TopicName,
    /// A jq program from the whole event to events. No output leaves it out; key, headers and payload of each output count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "select(.payload.country == \"DE\")"))]
    pub transform: Option<String>,
    /// Where the first run begins; earliest unless given. A later run of the same replay goes on where the one before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub position: Option<PositionFields>,
    /// Leave out events that cannot be made or are refused, and count them. Otherwise the first one ends it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub skip_unfit: bool,
}

/// One line of the answer. The last one is `done` or `error`; after an error, or without an end, asking again goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReplayIntoReport {
    /// How far it is.
    Progress(ReplayIntoCounts),
    /// Everything that was stored when it began is replayed.
    Done(ReplayIntoCounts),
    /// It cannot go on.
    Error(Box<ProblemDocument>),
}

/// Events so far, those of earlier runs included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReplayIntoCounts {
    pub read: u64,
    /// Handed to the target, which stores each of them once.
    pub sent: u64,
    /// Read, and nothing was made of them.
    pub left_out: u64,
    /// Read, and they cannot be made or were refused.
    pub skipped: u64,
    /// They exist and cannot be read.
    pub unreadable: u64,
    /// Left to read, as far as offsets tell.
    pub left: u64,
}
