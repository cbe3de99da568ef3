//! Leases within one process, by the monotonic clock: for stores that no other process shares.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::{Clock, StoreLease};

pub struct LeaseTable {
    held: Mutex<HashMap<String, Held>>,
    first_fence: u64,
}

struct Held {
    lease: StoreLease,
    until: Duration,
}

impl Default for LeaseTable {
    fn default() -> Self {
        Self::new(1)
    }
}

impl LeaseTable {
    /// `first_fence` must be above every fence that an earlier process can have given.
    pub fn new(first_fence: u64) -> Self {
        Self { held: Mutex::default(), first_fence }
    }

    pub fn acquire(&self, clock: &dyn Clock, name: &str, holder: &str, ttl: Duration) -> Option<StoreLease> {
        let now = clock.monotonic();
        let mut held = self.held.lock();
        let fence = match held.get_mut(name) {
            Some(current) if current.until > now && current.lease.holder == holder => {
                current.until = now.saturating_add(ttl);
                return Some(current.lease.clone());
            }
            Some(current) if current.until > now => return None,
            Some(current) => current.lease.fence + 1,
            None => self.first_fence,
        };
        let lease = StoreLease { name: name.to_owned(), holder: holder.to_owned(), fence };
        let until = now.saturating_add(ttl);
        held.insert(name.to_owned(), Held { lease: lease.clone(), until });
        Some(lease)
    }

    pub fn held(&self, clock: &dyn Clock, name: &str) -> Option<StoreLease> {
        let held = self.held.lock();
        let current = held.get(name).filter(|current| current.until > clock.monotonic())?;
        Some(current.lease.clone())
    }

    pub fn release(&self, lease: &StoreLease) {
        // The entry stays: the next holder's fence must be higher.
        if let Some(current) = self.held.lock().get_mut(&lease.name).filter(|current| current.lease == *lease) {
            current.until = Duration::ZERO;
        }
    }
}
