//! A clock that only the test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prom_types::Clock;

/// The moment at which tests begin, in seconds since the epoch.
pub const START_S: i64 = 1_800_000_000;

#[derive(Default)]
pub struct ManualClock {
    since_start_ms: AtomicU64,
}

impl ManualClock {
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    pub fn advance(&self, by: Duration) {
        self.since_start_ms.fetch_add(by.as_millis() as u64, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        START_S * 1000 + self.since_start_ms.load(Ordering::SeqCst) as i64
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.since_start_ms.load(Ordering::SeqCst))
    }
}
