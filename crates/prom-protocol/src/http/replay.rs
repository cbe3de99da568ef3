//! `GET /replay`: retained events again, page by page.

use prom_types::{Event, Gap, TopicName};
use serde::{Deserialize, Serialize};

/// The query of `GET /replay`, beside [`PositionFields`](crate::position::PositionFields).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct ReplayQuery {
    pub topic: TopicName,
    /// At most this many events, 1 to 10 000; 1000 unless given.
    pub limit: Option<usize>,
    /// Where an earlier page ended. Wins over `from`.
    pub next: Option<String>,
    /// `sse`: history, then what is published from now on, as server-sent events. Ends after `limit` events if one is given.
    #[cfg_attr(feature = "openapi", param(inline))]
    pub live: Option<ReplayLive>,
}

/// How a replay goes on when it has reached the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReplayLive {
    /// Server-sent events, as browsers read them with `EventSource`.
    Sse,
}

/// A page of a replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReplayPage {
    pub topic: TopicName,
    pub count: usize,
    pub events: Vec<Event>,
    /// What retention removed before this reader got there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub gaps: Vec<Gap>,
    /// Give it as `?next=` to continue, now or later.
    pub next: String,
    /// Nothing more was there.
    pub end: bool,
}
