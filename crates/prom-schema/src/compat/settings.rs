//! How a comparison reads schemas, and how much it may spend.

use std::time::Duration;

pub use crate::settings::{CompatPolicy, Formats, Undecided};

use crate::limits;

/// What one comparison may spend. Steps decide; the time is for what takes far longer than its steps should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub time: Duration,
    pub steps: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { time: limits::CHECK_TIME, steps: limits::CHECK_STEPS }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    pub policy: CompatPolicy,
    pub formats: Formats,
    pub undecided: Undecided,
    pub budget: Budget,
}
