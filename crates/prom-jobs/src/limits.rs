//! Every limit of the jobs, each with its reason.

use std::time::Duration;

/// Events of one step at most: a step's commit then costs little per event.
pub const STEP_EVENTS: usize = 1000;
/// Events of the first step, and of one whose upcasters are slow: few enough that a stop is heeded and others get their turn.
pub const FIRST_STEP_EVENTS: usize = 50;
pub const LEAST_STEP_EVENTS: usize = 10;
/// A step that took less makes the next one larger, and one that took more makes it smaller.
pub const QUICK_STEP: Duration = Duration::from_millis(50);
pub const SLOW_STEP: Duration = Duration::from_millis(250);
/// Bytes that one step reads.
pub const STEP_BYTES: usize = 4 * 1024 * 1024;
/// Bytes that one step writes. Upcast events may be larger than they were stored, and a commit has a limit of its own.
pub const STEP_WRITTEN_BYTES: usize = 8 * 1024 * 1024;
/// Events that are upcast at once: what upcasters make of them is held until it is looked at.
pub const UPCAST_AT_ONCE: usize = 50;
/// Failures that are told one by one; the rest is counted.
pub const FAILURES_TOLD: usize = 20;
/// Bytes of the name of a collection.
pub const COLLECTION_BYTES: usize = 64;
/// Looks at a cutover whose progress another run has just stored, before the other run is told of.
pub const START_TRIES: usize = 20;
