//! `GET /stats`: the hub at a glance.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::Error;
use prom_jobs::{Flow, FlowState, KeptState};
use prom_protocol::http::stats::{BackgroundView, HubStats, StoreView};
use prom_types::Durability;

use super::api::Api;
use super::caller::Caller;
use super::problem::{Problem, Problems};
use crate::Hub;
use crate::metrics::MeasuredRates;

#[utoipa::path(
    get,
    path = "/stats",
    operation_id = "stats",
    tag = "hub",
    summary = "Get statistics of the hub",
    responses((status = 200, description = "The hub", body = HubStats), Problems),
)]
pub(super) async fn get(State(api): State<Arc<Api>>, caller: Caller) -> Result<Json<HubStats>, Problem> {
    caller.may_everywhere(Action::Ops)?;
    let rates = api.sampler.rates().await?;
    let uptime = api.hub.clock.monotonic().saturating_sub(api.started);
    Ok(Json(hub_stats(&api.hub, uptime, &rates).await?))
}

/// The figures of a hub that has run for this long.
pub(crate) async fn hub_stats(hub: &Hub, uptime: Duration, rates: &MeasuredRates) -> Result<HubStats, Error> {
    let meters = hub.bus.meters();
    let durability = hub.bus.durability();
    Ok(HubStats {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        hub: hub.peers.as_ref().map(|peers| peers.name.clone()),
        uptime_s: uptime.as_secs(),
        store: StoreView { kind: store_kind(durability).to_owned(), durability, bytes: rates.bytes() },
        topics: meters.topics.len() as u64,
        groups: hub.bus.groups().await?.len() as u64,
        ws_connections: hub.ws_connections() as u64,
        in_flight: meters.groups.iter().map(|group| group.in_flight).sum(),
        lag_events: hub.bus.lag_counts().await?.iter().map(|lag| lag.lag_events).sum(),
        dead_letters: rates.dead_letters(),
        events: crate::metrics::totals(&meters),
        rates: rates.events(),
        rss_bytes: rss_bytes(),
        background: all_background(hub),
    })
}

fn all_background(hub: &Hub) -> Vec<BackgroundView> {
    let kept = hub.keeper.states().into_iter().map(|(task, state)| background(task.to_string(), state));
    kept.chain(hub.flows.all().iter().map(|flow| flowing(&**flow))).collect()
}

/// A flow is always under way: it has no passes that end.
fn flowing(flow: &dyn Flow) -> BackgroundView {
    let status = flow.status();
    let failure = status.error.filter(|_| status.state.is_unwell());
    BackgroundView {
        work: format!("{} {}", flow.kind().as_str(), flow.name()),
        elsewhere: status.state == FlowState::Elsewhere,
        last_pass_ts: None,
        failures: failure.as_ref().map_or(0, |failure| failure.tries),
        failed: failure.map(|failure| failure.reason),
    }
}

fn background(work: String, state: KeptState) -> BackgroundView {
    let KeptState { is_elsewhere, last_pass, failed, failures, .. } = state;
    BackgroundView { work, elsewhere: is_elsewhere, last_pass_ts: last_pass, failed, failures }
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
