//! `GET /stats`: the hub at a glance.

use prom_types::Durability;
use serde::{Deserialize, Serialize};

/// The hub at a glance. Counts begin with the process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HubStats {
    pub version: String,
    pub uptime_s: u64,
    pub store: StoreView,
    pub topics: u64,
    pub groups: u64,
    pub ws_connections: u64,
    /// Leased to subscribers at this moment.
    pub in_flight: u64,
    pub events: EventTotals,
    /// In the last ten seconds; `null` until it is known: ask again in a second.
    pub rates: Option<EventRates>,
    /// Resident memory of the process, where the system tells it.
    pub rss_bytes: Option<u64>,
}

/// Where events are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StoreView {
    /// `embedded`, `mongo` or `memory`.
    #[cfg_attr(feature = "openapi", schema(example = "embedded"))]
    pub kind: String,
    pub durability: Durability,
}

/// Events since the process started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventTotals {
    pub published: u64,
    pub delivered: u64,
    pub acked: u64,
}

/// Events per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventRates {
    pub published_per_s: f64,
    pub delivered_per_s: f64,
    pub acked_per_s: f64,
}
