//! A clock that only a test moves.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use prom_types::EpochMs;

use crate::Clock;

/// A moment in 2023: far from zero, so that the clock can be turned back to a valid time.
const BEGINNING_MS: EpochMs = 1_700_000_000_000;

/// Wall and monotonic time, moved by hand.
#[derive(Debug)]
pub struct TestClock {
    wall_ms: AtomicI64,
    monotonic_ms: AtomicU64,
}

impl TestClock {
    pub fn new() -> Self {
        Self::starting_at(BEGINNING_MS)
    }

    pub fn starting_at(wall_ms: EpochMs) -> Self {
        Self { wall_ms: AtomicI64::new(wall_ms), monotonic_ms: AtomicU64::new(0) }
    }

    /// Time passes: both clocks move. Counts whole milliseconds.
    pub fn advance(&self, by: Duration) {
        self.wall_ms.fetch_add(signed_ms(by), Ordering::SeqCst);
        let by_ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.monotonic_ms.fetch_add(by_ms, Ordering::SeqCst);
    }

    /// The wall clock is turned back; no time passes.
    pub fn turn_back(&self, by: Duration) {
        self.wall_ms.fetch_sub(signed_ms(by), Ordering::SeqCst);
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TestClock {
    fn now_ms(&self) -> EpochMs {
        self.wall_ms.load(Ordering::SeqCst)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.monotonic_ms.load(Ordering::SeqCst))
    }
}

fn signed_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
