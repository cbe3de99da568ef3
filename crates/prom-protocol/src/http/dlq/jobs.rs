//! `/dlq/jobs`: how replays and purges are doing.

use prom_types::{EpochMs, EventId, TopicName};
use serde::{Deserialize, Serialize};

/// How a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LetterJobStateView {
    /// It works.
    Running,
    /// The canary was sent, and not all of it is settled.
    Canary,
    /// Somebody paused it.
    Paused,
    /// It stopped by itself; `reason` says why. It can be resumed.
    Stopped,
    /// Everything was sent or purged.
    Done,
    /// Somebody ended it.
    Cancelled,
}

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LetterJobKind {
    Replay,
    GiveBack,
    Purge,
}

/// A job over letters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LetterJobView {
    pub job: EventId,
    pub kind: LetterJobKind,
    /// The topic of the originals.
    pub topic: TopicName,
    pub state: LetterJobStateView,
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub reason: Option<String>,
    /// The subject that began it.
    pub by: Option<String>,
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub created_ts: EpochMs,
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub updated_ts: EpochMs,
    /// Letters that matched so far.
    pub matched: u64,
    /// Letters whose events were sent, or that were purged.
    pub replayed: u64,
    /// Letters that matched and were left as they are.
    pub skipped: u64,
    /// Offsets that are left to look at.
    pub left: u64,
    pub outcome: LetterOutcomes,
}

/// What became of the events that a job sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LetterOutcomes {
    /// The group has settled them.
    pub acked: u64,
    /// The group has not settled them yet, as far as is known.
    pub waiting: u64,
    /// They are dead letters once more.
    pub dead_again: u64,
}

/// The query of `GET /dlq/jobs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct LetterJobsQuery {
    /// At most this many jobs, 1 to 1000; 100 unless given.
    pub limit: Option<usize>,
    /// Where an earlier page ended.
    pub next: Option<EventId>,
}

/// Jobs, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LetterJobList {
    pub jobs: Vec<LetterJobView>,
    /// Give it as `?next=` to continue; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub next: Option<EventId>,
    /// There are more, which the caller may not see.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: bool,
}
