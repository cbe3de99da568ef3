//! `prom outbox`, `prom feeds` and `prom projections`: flows between databases and the bus, watched and steered.

mod change;
mod choice;
mod drop;
mod feeds;
mod list;
mod outbox;
mod projections;
mod rebuild;
mod requeue;
mod restart;
mod rows;
mod seek;
mod show;
mod words;

pub use self::feeds::FeedsCommand;
pub use self::outbox::OutboxCommand;
pub use self::projections::ProjectionsCommand;

use clap::Args;

/// One flow.
#[derive(Debug, Args)]
struct FlowName {
    /// Its name, as in prom.toml
    name: String,
}
