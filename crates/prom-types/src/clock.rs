//! Time as an argument: the wall clock for what is written down, a monotonic one for deadlines.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
    started: Duration,
}

impl SystemClock {
    /// The clock of the system.
    pub fn new() -> Self {
        Self { started: since_boot() }
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
        since_boot().saturating_sub(self.started)
    }
}

/// Goes on while the machine sleeps: a hub that wakes up knows that its leases are over.
#[cfg(target_os = "linux")]
fn since_boot() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Where there is no such clock, the sleep of the machine is not noticed.
#[cfg(not(target_os = "linux"))]
fn since_boot() -> Duration {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    FIRST.get_or_init(std::time::Instant::now).elapsed()
}
