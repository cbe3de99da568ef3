//! The memory that bodies may take, of all requests and all answers together.
//!
//! Promise: what a body takes is counted before it is kept, and is given back when its share is dropped. Where nothing
//! is left, a request is refused and may be tried again; it never waits while it holds a share of its own.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::{Code, Problem};

/// What is counted at once: smaller bodies are too many to be worth counting exactly.
const UNIT_BYTES: usize = 1024;
/// Bodies come and go within moments.
const RETRY_AFTER_MS: u64 = 1000;

pub(crate) struct BodyBudget {
    units: Arc<Semaphore>,
    bytes: usize,
}

/// What one body holds.
pub(crate) struct BodyShare {
    held: OwnedSemaphorePermit,
    bytes: usize,
}

impl BodyBudget {
    pub fn new(bytes: usize) -> Self {
        let units = (bytes / UNIT_BYTES).min(Semaphore::MAX_PERMITS);
        Self { units: Arc::new(Semaphore::new(units)), bytes }
    }

    pub fn take(&self, bytes: usize) -> Result<BodyShare, Problem> {
        let held = units(bytes).and_then(|units| self.units.clone().try_acquire_many_owned(units).ok());
        held.map(|held| BodyShare { held, bytes: self.bytes }).ok_or_else(|| used_up(self.bytes))
    }
}

impl BodyShare {
    /// Holds at least this much from now on.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), Problem> {
        let refused = || used_up(self.bytes);
        let more = bytes.div_ceil(UNIT_BYTES).saturating_sub(self.held.num_permits());
        if more == 0 {
            return Ok(());
        }
        let more = u32::try_from(more).map_err(|_| refused())?;
        let more = self.held.semaphore().clone().try_acquire_many_owned(more).map_err(|_| refused())?;
        self.held.merge(more);
        Ok(())
    }

    /// The bytes, which hold the share until they are written or dropped.
    pub fn hold(self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(HeldBytes { bytes, _share: self })
    }
}

struct HeldBytes {
    bytes: Vec<u8>,
    _share: BodyShare,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

fn units(bytes: usize) -> Option<u32> {
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).ok()
}

fn used_up(bytes: usize) -> Problem {
    let detail = format!(
        "other requests and answers use all {bytes} bytes that the hub reserves for bodies; try again, or send less at once"
    );
    Problem::new(Code::Overloaded, detail).retry_after(RETRY_AFTER_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_grow_and_come_back() {
        let budget = BodyBudget::new(10 * UNIT_BYTES);
        let mut one = budget.take(UNIT_BYTES).unwrap();
        one.grow_to(8 * UNIT_BYTES).unwrap();
        one.grow_to(UNIT_BYTES).unwrap();
        assert!(budget.take(3 * UNIT_BYTES).is_err());
        assert!(one.grow_to(11 * UNIT_BYTES).is_err());
        let bytes = one.hold(vec![7]);
        assert!(budget.take(3 * UNIT_BYTES).is_err());
        drop(bytes);
        assert!(budget.take(10 * UNIT_BYTES).is_ok());
    }
}
