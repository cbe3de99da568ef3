//! What all events on their way to subscribers take in memory, over every queue, cache and tail of a bus.
//!
//! Each of them has a bound of its own, but a client can open many. Above [`DELIVERY_BYTES`] in all, every holder keeps to
//! [`LEAN_BYTES`]: what it holds stays, and more comes as it is taken. So a subscriber that reads is served at any time, and
//! thousands that do not read hold little each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::{DELIVERY_BYTES, LEAN_BYTES};

/// The bytes of all holders.
#[derive(Debug, Default)]
pub(crate) struct DeliveryMemory(AtomicUsize);

/// One holder's part. What it told is taken back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct HeldBytes {
    memory: Arc<DeliveryMemory>,
    told: usize,
}

impl DeliveryMemory {
    pub fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl HeldBytes {
    pub fn new(memory: &Arc<DeliveryMemory>) -> Self {
        Self { memory: memory.clone(), told: 0 }
    }

    /// It holds this much now. Called once per batch: holders on other threads share the counter.
    pub fn tell(&mut self, bytes: usize) {
        if bytes > self.told {
            self.memory.0.fetch_add(bytes - self.told, Ordering::Relaxed);
        } else if bytes < self.told {
            self.memory.0.fetch_sub(self.told - bytes, Ordering::Relaxed);
        }
        self.told = bytes;
    }

    /// How much it may hold: `usual`, or less while all together hold too much.
    pub fn limit(&self, usual: usize) -> usize {
        if self.memory.bytes() > DELIVERY_BYTES { usual.min(LEAN_BYTES) } else { usual }
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.tell(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_keep_to_little_while_all_together_hold_too_much() {
        let memory = Arc::<DeliveryMemory>::default();
        let (mut one, mut other) = (HeldBytes::new(&memory), HeldBytes::new(&memory));
        one.tell(DELIVERY_BYTES);
        assert_eq!(other.limit(1 << 20), 1 << 20);
        other.tell(1);
        assert_eq!((one.limit(1 << 20), other.limit(100)), (LEAN_BYTES, 100));
        one.tell(DELIVERY_BYTES / 2);
        assert_eq!(one.limit(1 << 20), 1 << 20);
        drop((one, other));
        assert_eq!(memory.bytes(), 0);
    }
}
