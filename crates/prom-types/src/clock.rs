//! Time as an argument: the wall clock for what is written down, a monotonic one for deadlines.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::EpochMs;

/// Where everybody reads the time: passed in, so that tests own it and a hub has one.
pub trait Clock: Send + Sync + 'static {
    /// Wall-clock milliseconds; may jump.
    fn now_ms(&self) -> EpochMs;

    /// Time since some fixed moment; never goes back. Deadlines are measured by this.
    fn monotonic(&self) -> Duration;
}

/// The machine's clocks.
#[derive(Debug, Clone)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// The clock of the system.
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> EpochMs {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        EpochMs::try_from(since_epoch.as_millis()).unwrap_or(EpochMs::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }
}
