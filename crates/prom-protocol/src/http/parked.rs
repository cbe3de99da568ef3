//! `GET /groups/{group}/parked`: the keys of a group that are parked, page by page.

use prom_types::{EventId, TopicName};
use serde::{Deserialize, Serialize};

/// The query of `GET /groups/{group}/parked`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct ParkedQuery {
    pub topic: TopicName,
    /// At most this many keys; 100 unless given, 1000 at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Where the page begins: `next` of the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A page of parked keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ParkedList {
    /// By partition, otherwise in no particular order.
    pub keys: Vec<ParkedKeyView>,
    /// Where the next page begins; `null` after the last.
    pub next: Option<String>,
}

/// A key that stopped, because an event of it failed for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ParkedKeyView {
    pub topic: TopicName,
    pub partition: u32,
    pub key: String,
    pub since_ts: i64,
    /// The event that failed last.
    pub behind: EventId,
    /// The offset of the event whose turn it is.
    pub first: Option<u64>,
    /// That event was given back, and is handed out or about to be.
    pub waiting: bool,
    /// Letters of the key that are neither settled nor dropped; 1000 stands for more.
    pub letters: u64,
}
