//! What a backend provides to be checked.

use std::sync::Arc;

use async_trait::async_trait;

use super::TestClock;
use crate::{Store, StoreError};

/// A way to open one store repeatedly, with time under the suite's control.
#[async_trait]
pub trait Harness: Send + Sync {
    /// The clock that every store of this harness reads.
    fn clock(&self) -> &TestClock;

    /// A store with nothing in it. Called once per harness.
    async fn open(&self) -> Result<Arc<dyn Store>, StoreError>;

    /// The same, with the times of production where `open` shortens them.
    async fn open_usual(&self) -> Result<Arc<dyn Store>, StoreError> {
        self.open().await
    }

    /// The same store after a restart. A store that keeps nothing returns the one it was given.
    async fn reopen(&self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, StoreError>;

    /// Appending this many events of about 300 bytes moves everything before them out of the part of a log that
    /// compaction leaves alone.
    fn events_until_sealed(&self) -> usize;
}
