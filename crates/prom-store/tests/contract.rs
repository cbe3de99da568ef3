//! The memory store keeps the contract, and the list of its promises is complete.

use std::sync::Arc;

use async_trait::async_trait;
use prom_store::contract::{Harness, TestClock};
use prom_store::memory::ACTIVE_EVENTS;
use prom_store::{MemoryStore, Store, StoreError};

struct MemoryHarness {
    clock: Arc<TestClock>,
}

impl MemoryHarness {
    fn new() -> Self {
        Self { clock: Arc::new(TestClock::new()) }
    }
}

#[async_trait]
impl Harness for MemoryHarness {
    fn clock(&self) -> &TestClock {
        &self.clock
    }

    async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(MemoryStore::new(self.clock.clone())))
    }

    async fn reopen(&self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, StoreError> {
        Ok(store)
    }

    fn events_until_sealed(&self) -> usize {
        ACTIVE_EVENTS
    }
}

prom_store::contract_tests!(MemoryHarness::new());

#[test]
fn every_promise_of_the_suite_is_in_the_list() {
    let list = include_str!("../src/contract/promises.rs");
    let files = [
        include_str!("../src/contract/append.rs"),
        include_str!("../src/contract/close.rs"),
        include_str!("../src/contract/commit.rs"),
        include_str!("../src/contract/compact.rs"),
        include_str!("../src/contract/cursor.rs"),
        include_str!("../src/contract/dedupe.rs"),
        include_str!("../src/contract/document.rs"),
        include_str!("../src/contract/end.rs"),
        include_str!("../src/contract/expect.rs"),
        include_str!("../src/contract/find.rs"),
        include_str!("../src/contract/lease.rs"),
        include_str!("../src/contract/place.rs"),
        include_str!("../src/contract/read.rs"),
        include_str!("../src/contract/trim.rs"),
        include_str!("../src/contract/watch.rs"),
    ];
    let listed: Vec<_> = list.lines().map(str::trim).collect();
    for file in files {
        let promises = file.lines().filter_map(|line| line.strip_prefix("pub async fn "));
        for promise in promises.filter_map(|line| line.split_once('(')) {
            assert!(listed.contains(&promise.0), "{} is not in promises.rs", promise.0);
        }
    }
}
