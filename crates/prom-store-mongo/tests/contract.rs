//! The store on MongoDB keeps the contract, on a real replica set.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use prom_store::contract::{Harness, TestClock};
use prom_store::{Store, StoreError};
use prom_store_mongo::{ACTIVE_BATCHES, LeaseClock, MongoOptions, MongoStore, MongoTimes};
use prom_testkit::mongo::shared;
use tokio::sync::OnceCell;

struct MongoHarness {
    clock: Arc<TestClock>,
    url: OnceCell<String>,
}

impl MongoHarness {
    fn new() -> Self {
        Self { clock: Arc::new(TestClock::new()), url: OnceCell::new() }
    }

    async fn open_with(&self, times: MongoTimes) -> Result<Arc<dyn Store>, StoreError> {
        let server = shared().await.expect("a MongoDB server");
        let url = self.url.get_or_init(async || server.fresh_url()).await;
        let options = MongoOptions {
            clock: self.clock.clone(),
            lease_clock: LeaseClock::Given,
            times,
            ..MongoOptions::default()
        };
        Ok(MongoStore::open(url, options).await?)
    }
}

#[async_trait]
impl Harness for MongoHarness {
    fn clock(&self) -> &TestClock {
        &self.clock
    }

    async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        // The suite compacts what it has just written.
        self.open_with(MongoTimes { keep_physically: Duration::ZERO, ..MongoTimes::default() }).await
    }

    async fn open_usual(&self) -> Result<Arc<dyn Store>, StoreError> {
        self.open_with(MongoTimes::default()).await
    }

    async fn reopen(&self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, StoreError> {
        store.close().await?;
        drop(store);
        self.open().await
    }

    fn events_until_sealed(&self) -> usize {
        ACTIVE_BATCHES
    }
}

prom_store::contract_tests!(MongoHarness::new());
