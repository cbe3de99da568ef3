//! `/flows`: outboxes, feeds and projections are shown and steered, by those who may.

mod act;
pub mod in_memory;
mod rights;
mod show;

use prom_jobs::FlowKind;

use self::in_memory::FlowInMemory;
use crate::home::Home;

/// A hub with one flow of each kind. The outbox has two rows in error, of two keys, and one that waits behind the first.
async fn with_flows(home: Home) -> Home {
    let outbox = FlowInMemory::new(FlowKind::Outbox, "orders").row("a", "k1", "error").row("b", "k1", "pending");
    home.flows.add(outbox.row("c", "k2", "error").shared());
    home.flows.add(FlowInMemory::new(FlowKind::Feed, "customers").shared());
    home.flows.add(FlowInMemory::new(FlowKind::Projection, "processes").shared());
    home
}
