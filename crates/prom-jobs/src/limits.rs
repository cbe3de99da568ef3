//! Every limit of the jobs, each with its reason.

/// Events of one step: small enough for progress that moves, large enough that a step's commit costs little per event.
pub const STEP_EVENTS: usize = 1000;
/// Bytes of one step. An upcast event may be larger than it was stored.
pub const STEP_BYTES: usize = 4 * 1024 * 1024;
/// Failures that are told one by one; the rest is counted.
pub const FAILURES_TOLD: usize = 20;
