//! `POST /topics/{topic}/schema/prove`: what a candidate would do to the stored events. The answer comes in lines.
//!
//! The body is that of a registration ([`super::schema::RegisterSchema`]).

use prom_types::GroupName;
use serde::{Deserialize, Serialize};

use super::problem::ProblemDocument;
use super::schema::ViolationView;

/// One line of the answer. The last one is `done` or `error`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProveReport {
    /// How far it is.
    Progress(ProveCounts),
    /// Everything that was stored when it began was looked at.
    Done(Box<ProveResult>),
    /// It cannot go on.
    Error(Box<ProblemDocument>),
}

/// Events so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProveCounts {
    /// Looked at.
    pub scanned: u64,
    /// Left to look at, as far as offsets tell.
    pub left: u64,
    /// Those that would fail.
    pub failed: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProveResult {
    /// The number that the candidate would get, or has.
    pub version: u32,
    /// Events looked at.
    pub scanned: u64,
    /// Events that could not be brought to the candidate.
    pub failed: u64,
    /// The first of them.
    pub failures: Vec<ProveFailureView>,
    /// Events that exist and cannot be read.
    pub unreadable: u64,
    /// The groups that read the topic.
    pub groups: Vec<GroupName>,
    /// How many more groups read it, which this token may not see.
    pub hidden: u64,
    /// Where the schemas themselves are not compatible, if `compat` was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub violations: Vec<ViolationView>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub notes: Vec<String>,
}

/// An event that would fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProveFailureView {
    pub id: String,
    pub partition: u32,
    pub offset: u64,
    /// Why, with the place in the payload.
    pub reason: String,
}
