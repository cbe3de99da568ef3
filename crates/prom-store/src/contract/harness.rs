//! What a backend brings to be checked.

use std::sync::Arc;

use async_trait::async_trait;

use super::TestClock;
use crate::{Store, StoreError};

/// A way to open one store again and again, with time under the suite's control.
#[async_trait]
pub trait Harness: Send + Sync {
    /// The clock that every store of this harness reads.
    fn clock(&self) -> &TestClock;

    /// A store with nothing in it. Called once per harness.
    async fn open(&self) -> Result<Arc<dyn Store>, StoreError>;

    /// The same store after a restart. One that keeps nothing hands back what it was given.
    async fn reopen(&self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, StoreError>;

    /// So many further events of about 300 bytes push everything before them out of the part of a
    /// log that compaction leaves alone.
    fn events_until_sealed(&self) -> usize;
}
