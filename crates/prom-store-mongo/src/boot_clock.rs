//! Time since the machine started, including sleep. It tells how old a view of a log's head is.

use std::time::Duration;

#[cfg(target_os = "linux")]
pub fn boot_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// On other systems the wall clock is used. If it is set back, views look younger by as much.
#[cfg(not(target_os = "linux"))]
pub fn boot_time() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}
