//! `/dlq`: dead letters, the errors they are about, and what is done with them.

mod jobs;
mod replay;

use prom_types::{EpochMs, EventId, GroupName, Json, Offset, TopicName};
use serde::{Deserialize, Serialize};

pub use self::jobs::{
    LetterJobKind, LetterJobList, LetterJobStateView, LetterJobView, LetterJobsQuery, LetterOutcomes,
};
pub use self::replay::{LettersDone, PurgeLetters, ReplayLetters, ReplayTo, TriedLetterView};

/// The query of `GET /dlq`. Everything that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(rename_all = "camelCase")]
pub struct LettersQuery {
    /// The topic of the originals.
    pub topic: Option<TopicName>,
    /// The group that gave up.
    pub group: Option<GroupName>,
    /// A text within the error, in any case of its letters.
    pub err: Option<String>,
    /// The kind of error, as `GET /dlq/groups` tells it.
    pub fingerprint: Option<String>,
    /// The key of the event.
    pub key: Option<String>,
    /// A jq program over the original event; a letter matches if its first output is neither `false` nor `null`.
    pub jq: Option<String>,
    /// The id of a letter.
    pub id: Option<EventId>,
    /// Only letters written at or after this, in epoch milliseconds.
    #[cfg_attr(feature = "openapi", param(value_type = Option<i64>))]
    pub from_ts: Option<EpochMs>,
    /// Only letters written before this, in epoch milliseconds.
    #[cfg_attr(feature = "openapi", param(value_type = Option<i64>))]
    pub to_ts: Option<EpochMs>,
    /// `open`: only letters whose events were not handed out again; `replayed`: only those that were.
    #[cfg_attr(feature = "openapi", param(inline))]
    pub standing: Option<LetterStandingView>,
    /// At most this many letters, 1 to 1000; 100 unless given.
    pub limit: Option<usize>,
    /// Where an earlier page ended.
    pub next: Option<String>,
}

/// Whether the event of a letter was handed out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LetterStandingView {
    /// It was not.
    Open,
    /// It was.
    Replayed,
}

/// A page of letters, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LettersView {
    pub topic: TopicName,
    /// Letters on this page.
    pub count: usize,
    pub letters: Vec<LetterView>,
    /// Give it as `?next=` to continue; absent at the end. A page may have few letters although there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub next: Option<String>,
    /// The declared index that found them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub index: Option<String>,
}

/// A dead letter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LetterView {
    /// The letter's id, not the event's.
    pub id: EventId,
    /// Where the letter lies in `dlq.<topic>`.
    pub partition: u32,
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub offset: Offset,
    /// When it was written.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub ts: EpochMs,
    /// The group that gave up.
    pub group: GroupName,
    /// Why.
    pub err: String,
    /// The kind of error.
    pub fingerprint: String,
    /// Failed attempts.
    pub attempts: u32,
    /// How often the event died, this time included.
    pub deaths: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub key: Option<String>,
    /// The event as it was, whole.
    pub original: Json,
    /// Set if the event was handed out again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub replay: Option<LetterReplayView>,
}

/// That the event of a letter was handed out again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LetterReplayView {
    /// The job that did it. Empty where the event went on by itself, behind others of its parked key that were given back.
    pub job: String,
    /// The subject that began the job.
    pub by: Option<String>,
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub ts: EpochMs,
    /// The payload was changed.
    pub edited: bool,
    pub outcome: ReplayOutcomeView,
}

/// How it went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReplayOutcomeView {
    /// The group has not settled the event yet.
    Waiting,
    /// The group has settled it.
    Acked,
    /// It is a dead letter once more.
    DeadAgain,
}

/// The query of `GET /dlq/groups`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct LetterErrorsQuery {
    /// All topics unless given.
    pub topic: Option<TopicName>,
}

/// Letters by topic and kind of error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LetterErrorsList {
    pub topics: Vec<LetterTopicView>,
    /// There are more topics with letters, which the caller may not see.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: bool,
    /// How many more topics there are than an answer has; ask for one by its name.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub omitted: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The letters of one topic. Counts are exact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LetterTopicView {
    /// The topic of the originals.
    pub topic: TopicName,
    /// Letters that are retained and not purged.
    pub count: u64,
    /// Those among them whose events were handed out again.
    pub replayed: u64,
    /// By kind of error, the most letters first.
    pub errors: Vec<LetterErrorView>,
}

/// Letters of one kind of error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LetterErrorView {
    /// What to give as `fingerprint`. `other`: errors that are too many to be told apart.
    pub fingerprint: String,
    /// The error without numbers, ids and quoted parts.
    #[cfg_attr(feature = "openapi", schema(example = "order # of \"…\" not found"))]
    pub pattern: String,
    pub count: u64,
    /// Those among them whose events were handed out again.
    pub replayed: u64,
    /// When the first of them was written.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub first_ts: EpochMs,
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub last_ts: EpochMs,
    pub groups: Vec<LetterGroupCount>,
    /// Letters of groups that are too many to be counted apart.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub other_groups: u64,
    /// The last of them, for those who may read letters and ask for one topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub sample: Option<Box<LetterView>>,
}

/// Letters of one group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LetterGroupCount {
    pub group: String,
    pub count: u64,
}
