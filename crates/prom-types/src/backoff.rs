//! How long a failed event waits before it is delivered again.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The wait after the first failure doubles with every further one, up to the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Backoff {
    /// The wait after the first failure.
    pub first_ms: u64,
    /// The longest wait.
    pub max_ms: u64,
}

impl Backoff {
    /// Whole milliseconds count.
    pub fn new(first: Duration, max: Duration) -> Self {
        let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Self { first_ms: millis(first), max_ms: millis(max) }
    }

    /// The longest wait after `failures` failures.
    pub fn ceiling(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        Duration::from_millis(self.first_ms.saturating_mul(1 << doublings).min(self.max_ms))
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first_ms: 200, max_ms: 30_000 }
    }
}

impl fmt::Display for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms doubling to {} ms", self.first_ms, self.max_ms)
    }
}
