//! Leases in memory.

use std::time::Duration;

use async_trait::async_trait;

use super::MemoryStore;
use crate::{Leases, StoreError, StoreLease};

#[async_trait]
impl Leases for MemoryStore {
    async fn acquire_lease(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<StoreLease>, StoreError> {
        Ok(self.open_state()?.leases.acquire(&*self.clock, name, holder, ttl))
    }

    async fn held_lease(&self, name: &str) -> Result<Option<StoreLease>, StoreError> {
        Ok(self.open_state()?.leases.held(&*self.clock, name))
    }

    async fn release_lease(&self, lease: &StoreLease) -> Result<(), StoreError> {
        self.open_state()?.leases.release(lease);
        Ok(())
    }
}
