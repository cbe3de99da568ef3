//! `GET /stats`: the hub at a glance.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_types::Durability;
use serde::Serialize;
use utoipa::ToSchema;

use super::api::Api;
use super::caller::Caller;
use super::problem::{Problem, Problems};
use crate::metrics::{EventRates, EventTotals};

/// The hub at a glance. Counts begin with the process.
#[derive(Serialize, ToSchema)]
pub(crate) struct Stats {
    version: &'static str,
    uptime_s: u64,
    store: StoreView,
    topics: usize,
    groups: usize,
    ws_connections: usize,
    /// Leased to subscribers at this moment.
    in_flight: u64,
    events: EventTotals,
    /// In the last ten seconds; `null` until it is known: ask again in a second.
    rates: Option<EventRates>,
    /// Resident memory of the process, where the system tells it.
    rss_bytes: Option<u64>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct StoreView {
    #[schema(example = "embedded")]
    kind: &'static str,
    #[schema(value_type = super::schema::Durability)]
    durability: Durability,
}

#[utoipa::path(
    get,
    path = "/stats",
    operation_id = "stats",
    tag = "hub",
    summary = "The hub at a glance",
    responses((status = 200, description = "The hub", body = Stats), Problems),
)]
pub(super) async fn get(State(api): State<Arc<Api>>, caller: Caller) -> Result<Json<Stats>, Problem> {
    caller.may_everywhere(Action::Ops)?;
    let hub = &api.hub;
    let rates = api.sampler.rates().await?;
    let meters = hub.bus.meters();
    let durability = hub.bus.durability();
    Ok(Json(Stats {
        version: env!("CARGO_PKG_VERSION"),
        uptime_s: hub.clock.monotonic().saturating_sub(api.started).as_secs(),
        store: StoreView { kind: store_kind(durability), durability },
        topics: meters.topics.len(),
        groups: hub.bus.groups().await?.len(),
        ws_connections: hub.ws_connections(),
        in_flight: meters.groups.iter().map(|group| group.in_flight).sum(),
        events: EventTotals::of(&meters),
        rates: rates.events(),
        rss_bytes: rss_bytes(),
    }))
}

/// Each kind of store has its own way of being durable.
fn store_kind(durability: Durability) -> &'static str {
    match durability {
        Durability::Fsync | Durability::Os => "embedded",
        Durability::Majority => "mongo",
        Durability::Memory => "memory",
    }
}

fn rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
