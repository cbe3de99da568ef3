//! Time as an argument: the wall clock for what tokens say, a monotonic one for how often keys are fetched.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use prom_types::EpochMs;

/// Where authentication reads the time.
pub trait Clock: Send + Sync + 'static {
    /// Wall-clock milliseconds; may jump.
    fn now_ms(&self) -> EpochMs;

    /// Time since some fixed moment; never goes back.
    fn monotonic(&self) -> Duration;
}

/// The machine's clocks.
#[derive(Debug, Clone)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
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
        epoch_ms(SystemTime::now())
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }
}

pub(crate) fn epoch_ms(time: SystemTime) -> EpochMs {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    EpochMs::try_from(since_epoch.as_millis()).unwrap_or(EpochMs::MAX)
}
