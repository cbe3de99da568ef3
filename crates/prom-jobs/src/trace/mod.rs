//! Tracing: what led to an event and what it led to, as a tree.

mod index;
mod tree;

use std::sync::Arc;
use std::time::Duration;

use prom_engine::Bus;
use tokio::sync::Mutex;

use self::index::TraceIndex;
pub use self::index::TracePlace;
pub use self::tree::{Trace, TraceDelivery, TraceEvent, TraceLetter, TraceNode, TraceRights};
use crate::JobError;
use crate::keeper::KeptWork;
use crate::limits::TRACE_TURN;

/// Keeps the index of causes, and draws trees from it. Cloning costs a reference count.
#[derive(Clone, Default)]
pub struct Tracer {
    index: Arc<Mutex<TraceIndex>>,
}

impl Tracer {
    /// One for each process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Work for a [`Keeper`](crate::Keeper): reads what is new, so that questions have little left to read.
    pub fn indexing(&self) -> impl KeptWork + use<> {
        Indexing(self.clone())
    }

    /// Reads what is new for at most so long. Returns how many events are left.
    async fn catch_up(&self, bus: &Bus, within: Duration) -> Result<u64, JobError> {
        let deadline = bus.clock().monotonic() + within;
        self.index.lock().await.catch_up(bus, deadline).await
    }
}

struct Indexing(Tracer);

impl KeptWork for Indexing {
    async fn pass(&mut self, bus: &Bus) -> Result<(), JobError> {
        // In turns, so that a question does not wait for a long pass.
        while self.0.catch_up(bus, TRACE_TURN).await? > 0 && bus.is_open() {}
        Ok(())
    }
}
