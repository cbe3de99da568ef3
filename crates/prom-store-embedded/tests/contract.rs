//! The embedded store keeps the contract, by its threads and by its callers, with files so small that every promise
//! crosses rolls and checkpoints.

use std::sync::Arc;

use async_trait::async_trait;
use prom_store::contract::{Harness, TestClock};
use prom_store::{Store, StoreError};
use prom_store_embedded::{Drive, EmbeddedOptions, EmbeddedStore, Sizes};
use tempfile::TempDir;

struct EmbeddedHarness {
    clock: Arc<TestClock>,
    dir: TempDir,
    drive: Drive,
}

impl EmbeddedHarness {
    fn new(drive: Drive) -> Self {
        Self { clock: Arc::new(TestClock::new()), dir: TempDir::new().expect("a temporary directory"), drive }
    }
}

#[async_trait]
impl Harness for EmbeddedHarness {
    fn clock(&self) -> &TestClock {
        &self.clock
    }

    async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        let options = EmbeddedOptions {
            clock: self.clock.clone(),
            drive: self.drive,
            sizes: Sizes::tiny(),
            ..EmbeddedOptions::default()
        };
        Ok(EmbeddedStore::open_with(self.dir.path(), options).await?)
    }

    async fn reopen(&self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, StoreError> {
        store.close().await?;
        drop(store);
        self.open().await
    }

    fn events_until_sealed(&self) -> usize {
        64
    }
}

mod threads {
    use super::*;
    prom_store::contract_tests!(EmbeddedHarness::new(Drive::Threads));
}

mod inline {
    use super::*;
    prom_store::contract_tests!(EmbeddedHarness::new(Drive::Inline));
}
