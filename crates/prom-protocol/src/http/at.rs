//! `GET /at` and `GET /diff`: a topic as it was at a time, and what became of its keys between two times.

use prom_types::{EpochMs, Event, TopicName};
use serde::{Deserialize, Serialize};

/// The query of `GET /at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct AtQuery {
    pub topic: TopicName,
    /// In epoch milliseconds. Events that were stored at that time count.
    #[cfg_attr(feature = "openapi", param(value_type = i64))]
    pub ts: EpochMs,
    /// Only this key. Without it the answer is a page of all live keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Keys on a page: 100 unless given, at most 1000. A page may have fewer and still not be the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// What the page before gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The query of `GET /diff`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct DiffQuery {
    pub topic: TopicName,
    /// In epoch milliseconds.
    #[cfg_attr(feature = "openapi", param(value_type = i64))]
    pub from: EpochMs,
    /// In epoch milliseconds; not before `from`.
    #[cfg_attr(feature = "openapi", param(value_type = i64))]
    pub to: EpochMs,
    /// Keys on a page: 100 unless given, at most 1000. A page may have fewer and still not be the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// What the page before gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The live keys of a topic at a time, in order, page by page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AtPage {
    /// The newest event of each key.
    pub items: Vec<Event>,
    /// For the next page; `null` on the last.
    pub next: Option<String>,
}

/// The keys that changed between two times, in order, page by page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DiffPage {
    pub items: Vec<KeyDifference>,
    /// For the next page; `null` on the last.
    pub next: Option<String>,
}

/// What became of a key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyDifference {
    pub key: String,
    pub change: KeyChangeKind,
    /// The newest event at the first time; `null` where the key was not live.
    pub before: Option<Event>,
    /// The newest event at the second time; `null` where the key was not live.
    pub after: Option<Event>,
}

/// A key that got another event is `changed`, also if that says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum KeyChangeKind {
    Made,
    Changed,
    Deleted,
}
