//! `GET /stats`: the hub at a glance.

use prom_types::{Durability, EpochMs};
use serde::{Deserialize, Serialize};

/// The hub at a glance. Counts begin with the process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HubStats {
    pub version: String,
    /// The hub that was asked, where several share a store: events, rates, connections and leases are its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub hub: Option<String>,
    pub uptime_s: u64,
    pub store: StoreView,
    pub topics: u64,
    pub groups: u64,
    pub ws_connections: u64,
    /// Leased to subscribers at this moment.
    pub in_flight: u64,
    /// Retained events that their groups have not settled, of all groups.
    pub lag_events: u64,
    /// Dead letters that are retained.
    pub dead_letters: u64,
    pub events: EventTotals,
    /// In the last ten seconds; `null` until it is known: ask again in a second.
    pub rates: Option<EventRates>,
    /// Resident memory of the process, where the system tells it.
    pub rss_bytes: Option<u64>,
    /// What this hub does in the background, flows among it.
    #[serde(default)]
    pub background: Vec<BackgroundView>,
}

/// How a piece of work in the background is doing. Of several hubs on one database, one does it at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BackgroundView {
    pub work: String,
    /// Another hub does it at the moment.
    pub elsewhere: bool,
    /// When the last pass of this hub ended; a flow has no passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_pass_ts: Option<EpochMs>,
    /// What the last pass failed with. It is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Passes that failed one after the other.
    pub failures: u32,
}

/// Where events are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StoreView {
    /// `embedded`, `mongo` or `memory`.
    #[cfg_attr(feature = "openapi", schema(example = "embedded"))]
    pub kind: String,
    pub durability: Durability,
    /// Of all events, as far as the store knows without reading.
    pub bytes: u64,
}

/// Events since the process started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventTotals {
    pub published: u64,
    pub delivered: u64,
    pub acked: u64,
    /// Deliveries of events that reached their group before.
    pub redelivered: u64,
    /// Deliveries given back as failed.
    pub nacked: u64,
    /// Events that went to the dead letters.
    pub dead_lettered: u64,
}

/// Events per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventRates {
    pub published_per_s: f64,
    pub delivered_per_s: f64,
    pub acked_per_s: f64,
}
