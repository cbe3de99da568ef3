//! A clock that follows tokio's time, also where a test has paused it.

use std::time::Duration;

use prom_types::{Clock, EpochMs};
use tokio::time::Instant;

/// Some moment in 2023.
const BEGINNING_MS: EpochMs = 1_700_000_000_000;

/// Wall and monotonic time of the runtime it is used in: both move when tokio's time does.
#[derive(Debug, Clone, Copy)]
pub struct TokioClock {
    begin: Instant,
}

impl TokioClock {
    /// Begins now, in 2023.
    pub fn new() -> Self {
        Self { begin: Instant::now() }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now_ms(&self) -> EpochMs {
        BEGINNING_MS.saturating_add(EpochMs::try_from(self.begin.elapsed().as_millis()).unwrap_or(EpochMs::MAX))
    }

    fn monotonic(&self) -> Duration {
        self.begin.elapsed()
    }
}
