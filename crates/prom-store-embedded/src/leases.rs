//! Leases within the process. The directory lock keeps other processes out, so nothing outlives this one.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use prom_store::{Clock, Lease};

pub(crate) struct LeaseTable {
    held: Mutex<HashMap<String, Held>>,
    /// Above every fence that an earlier process can have given.
    first_fence: u64,
}

struct Held {
    lease: Lease,
    until: Duration,
}

impl LeaseTable {
    pub(crate) fn new(first_fence: u64) -> Self {
        Self { held: Mutex::default(), first_fence }
    }

    pub(crate) fn acquire(&self, clock: &dyn Clock, name: &str, holder: &str, ttl: Duration) -> Option<Lease> {
        let now = clock.monotonic();
        let mut held = self.held.lock();
        let fence = match held.get_mut(name) {
            Some(current) if current.until > now && current.lease.holder == holder => {
                current.until = now + ttl;
                return Some(current.lease.clone());
            }
            Some(current) if current.until > now => return None,
            Some(current) => current.lease.fence + 1,
            None => self.first_fence,
        };
        let lease = Lease { name: name.to_owned(), holder: holder.to_owned(), fence };
        let until = now + ttl;
        held.insert(name.to_owned(), Held { lease: lease.clone(), until });
        Some(lease)
    }

    pub(crate) fn held(&self, clock: &dyn Clock, name: &str) -> Option<Lease> {
        let held = self.held.lock();
        let current = held.get(name).filter(|current| current.until > clock.monotonic())?;
        Some(current.lease.clone())
    }

    pub(crate) fn release(&self, lease: &Lease) {
        // The entry stays, ended: its fence is what the next holder's must exceed.
        if let Some(current) = self.held.lock().get_mut(&lease.name).filter(|current| current.lease == *lease) {
            current.until = Duration::ZERO;
        }
    }
}
