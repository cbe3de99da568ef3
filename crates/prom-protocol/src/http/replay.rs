//! `GET /replay`: retained events again, page by page.

use prom_types::{Event, TopicName};
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
}

/// A page of a replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReplayPage {
    pub topic: TopicName,
    pub count: usize,
    pub events: Vec<Event>,
    /// Give it as `?next=` to continue, now or later.
    pub next: String,
    /// Nothing more was there.
    pub end: bool,
}
