//! `POST /dlq/replay` and `POST /dlq/purge`.

use prom_types::{EpochMs, EventId, GroupName, Json, TopicName};
use serde::{Deserialize, Serialize};

use super::jobs::LetterJobStateView;

/// The body of `POST /dlq/replay`. Which letters: everything that is given must hold. Letters whose events were handed out again
/// are never meant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplayLetters {
    /// The topic of the originals.
    pub topic: TopicName,
    /// The group that gave up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub group: Option<GroupName>,
    /// The key of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub key: Option<String>,
    /// A text within the error, in any case of its letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub err: Option<String>,
    /// The kind of error, as `GET /dlq/groups` tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub fingerprint: Option<String>,
    /// A jq program over the original event; a letter is meant if its first output is neither `false` nor `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = ".payload.customer == 4711"))]
    pub jq: Option<String>,
    /// Only letters written at or after this, in epoch milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = i64))]
    pub from_ts: Option<EpochMs>,
    /// Only letters written before this, in epoch milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = i64))]
    pub to_ts: Option<EpochMs>,
    /// The ids of letters, 1000 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub ids: Vec<EventId>,
    /// Where the events go: to the topic, for every group, unless they are given back to the one in `group`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub to: ReplayTo,
    /// At most so many letters, the oldest first; 1000 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub limit: Option<u64>,
    /// A jq program from the original to the event that is sent; its payload counts. No output leaves the letter as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = ".payload.amount |= tonumber"))]
    pub transform: Option<String>,
    /// The payload that the event gets instead of its own; for one letter, named by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub payload: Option<Json>,
    /// Leave letters as they are whose event cannot be made or is refused, and count them as skipped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub skip_unfit: bool,
    /// Tell what would be sent, and send nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub dry_run: bool,
    /// Events a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, minimum = 1))]
    pub rate: Option<u32>,
    /// So many first, and the rest only if all of these were acked, or as many as `stopOnFailure` asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, minimum = 1))]
    pub canary: Option<u64>,
    /// Stop when more than this share of the events whose outcome is known died again, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, maximum = 100))]
    pub stop_on_failure: Option<u8>,
}

/// Where the events of letters go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReplayTo {
    /// They are published again, and every group gets them.
    #[default]
    Topic,
    /// They are given back: handed out again at their offsets, to the group that gave up on them and to no other.
    Group,
}

/// The body of `POST /dlq/purge`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PurgeLetters {
    /// The topic of the originals.
    pub topic: TopicName,
    /// The group that gave up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub group: Option<GroupName>,
    /// The key of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub key: Option<String>,
    /// A text within the error, in any case of its letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub err: Option<String>,
    /// The kind of error, as `GET /dlq/groups` tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub fingerprint: Option<String>,
    /// A jq program over the original event; a letter is meant if its first output is neither `false` nor `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = ".payload.customer == 4711"))]
    pub jq: Option<String>,
    /// Only letters written at or after this, in epoch milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = i64))]
    pub from_ts: Option<EpochMs>,
    /// Only letters written before this, in epoch milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = i64))]
    pub to_ts: Option<EpochMs>,
    /// The ids of letters, 1000 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub ids: Vec<EventId>,
    /// At most so many letters, the oldest first; all unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub limit: Option<u64>,
    /// Count what would be purged, and purge nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub dry_run: bool,
}

/// What came of a replay or a purge, or would come of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LettersDone {
    /// The job; absent after a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub job: Option<EventId>,
    /// Letters that matched, so far.
    pub matched: u64,
    /// Letters whose events were sent, or that were purged.
    pub replayed: u64,
    /// Letters that matched and were left as they are.
    pub skipped: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub state: Option<LetterJobStateView>,
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub reason: Option<String>,
    /// A dry run looked at the first thousand letters, and there are more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub more: bool,
    /// What a dry run would send, the first letters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub would_send: Vec<TriedLetterView>,
}

/// What would become of a letter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TriedLetterView {
    pub letter: EventId,
    /// The payload as it was.
    pub original: Json,
    /// The payload that would be sent; absent where the letter would be left as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub payload: Option<Json>,
    /// It is not that of the original.
    pub edited: bool,
    /// Why its event cannot be made or would be refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub unfit: Option<String>,
}
