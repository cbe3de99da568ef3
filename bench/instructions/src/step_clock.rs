//! A clock that moves by one microsecond with every reading: the same in every run, and never still.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prom_types::{Clock, EpochMs};

/// Some moment; which one changes nothing.
const STARTED_MS: EpochMs = 1_750_000_000_000;

#[derive(Default)]
pub struct StepClock {
    reads: AtomicU64,
}

impl Clock for StepClock {
    fn now_ms(&self) -> EpochMs {
        let passed = EpochMs::try_from(self.monotonic().as_millis()).unwrap_or_default();
        STARTED_MS + passed
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.reads.fetch_add(1, Ordering::Relaxed))
    }
}
