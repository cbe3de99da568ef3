//! `GET /search`: the newest events of a topic that match.

use prom_types::{EpochMs, Event, TopicName};
use serde::{Deserialize, Serialize};

/// The query of `GET /search`. All that is asked for must hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(rename_all = "camelCase")]
pub struct SearchQuery {
    pub topic: TopicName,
    /// Occurs in the id, the key, the headers, the tags or the payload, as they are stored. ASCII letters match in either case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A jq program over the whole event; the event matches if it gives neither `false` nor `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(example = ".payload.cpu_pct > 90"))]
    pub jq: Option<String>,
    /// The key, exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// A header: its name, or `name:value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(example = "x-tenant:acme"))]
    pub header: Option<String>,
    /// Stored at this time or later, in epoch milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<i64>))]
    pub from_ts: Option<EpochMs>,
    /// Stored at this time or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<i64>))]
    pub to_ts: Option<EpochMs>,
    /// At most this many events, 1 to 1000; 50 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Where an earlier page ended. The rest of the query must be the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A search that the hub's `prom.toml` keeps for people. All that it names must hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SavedSearch {
    #[cfg_attr(feature = "openapi", schema(example = "large orders"))]
    pub name: String,
    pub topic: TopicName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub jq: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub header: Option<String>,
}

/// The answer to `GET /searches`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SavedSearchList {
    /// Those of topics that the caller may read, as `prom.toml` has them.
    pub searches: Vec<SavedSearch>,
}

/// A page of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchPage {
    /// Events that were looked at for this page.
    pub scanned: u64,
    /// Those of them that matched: as many as there are items.
    pub matched: u64,
    /// Newest first. A page may be empty although there is a next one: how much is looked at is bounded.
    pub items: Vec<Event>,
    /// Give it as `?next=` to go on; `null` when everything was looked at.
    pub next: Option<String>,
    /// The declared index that answered; then `scanned` counts its entries. Without one, events were scanned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub index: Option<String>,
    /// Events that the jq program failed on. They do not count as matched.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub failed: u64,
    /// Why, for the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub failure: Option<String>,
    /// Events that exist and cannot be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub unreadable: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
