//! Leases in memory, by the monotonic clock.

use std::time::Duration;

use async_trait::async_trait;
use hashbrown::HashMap;

use super::MemoryStore;
use crate::{Lease, Leases, StoreError};

#[derive(Default)]
pub(super) struct MemoryLeases(HashMap<String, Held>);

/// Stays after the lease has ended, because the next fence must be higher.
struct Held {
    holder: String,
    fence: u64,
    until: Duration,
}

impl MemoryLeases {
    fn acquire(&mut self, name: &str, holder: &str, now: Duration, until: Duration) -> Option<Lease> {
        let held = self.0.entry(name.to_owned()).or_insert_with(|| Held {
            holder: holder.to_owned(),
            fence: 0,
            until: Duration::ZERO,
        });
        let live = now < held.until;
        if live && held.holder != holder {
            return None;
        }
        if !live {
            held.fence += 1;
            holder.clone_into(&mut held.holder);
        }
        held.until = until;
        Some(Lease { name: name.to_owned(), holder: holder.to_owned(), fence: held.fence })
    }

    fn held(&self, name: &str, now: Duration) -> Option<Lease> {
        let held = self.0.get(name).filter(|held| now < held.until)?;
        Some(Lease { name: name.to_owned(), holder: held.holder.clone(), fence: held.fence })
    }

    fn release(&mut self, lease: &Lease) {
        if let Some(held) = self.0.get_mut(&lease.name)
            && held.holder == lease.holder
            && held.fence == lease.fence
        {
            held.until = Duration::ZERO;
        }
    }
}

#[async_trait]
impl Leases for MemoryStore {
    async fn acquire_lease(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<Lease>, StoreError> {
        let now = self.clock.monotonic();
        Ok(self.open_state()?.leases.acquire(name, holder, now, now.saturating_add(ttl)))
    }

    async fn held_lease(&self, name: &str) -> Result<Option<Lease>, StoreError> {
        Ok(self.open_state()?.leases.held(name, self.clock.monotonic()))
    }

    async fn release_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        self.open_state()?.leases.release(lease);
        Ok(())
    }
}
