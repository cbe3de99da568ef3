//! How a comparison reads schemas, and how much it may spend.

use std::time::Duration;

use crate::limits;

/// Which documents count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    /// Properties that an open model never declared are taken as absent: adding an optional property is compatible.
    #[default]
    Lenient,
    /// Every document counts.
    Strict,
}

/// What `format` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Formats {
    /// Nothing: it is a remark.
    #[default]
    Annotate,
    /// A string in another format is invalid.
    Assert,
}

/// What happens to a pair that cannot be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Undecided {
    /// It is incompatible by the rule `undecided`.
    #[default]
    Refuse,
    /// It passes.
    Allow,
}

/// What one comparison may spend.
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
    pub policy: Policy,
    pub formats: Formats,
    pub undecided: Undecided,
    pub budget: Budget,
}
