//! What a dispatcher is told about its group, and the bounds that keep its memory finite.

use std::num::NonZeroU32;

use prom_types::{Backoff, Order};

use super::Parking;

/// What holds for the whole group.
#[derive(Debug, Clone, PartialEq)]
pub struct DispatchOptions {
    /// In which order events are leased.
    pub order: Order,
    /// Failed attempts after which an event goes to the dead letters; at least one.
    pub max_attempts: u32,
    /// How long failed events wait.
    pub backoff: Backoff,
    /// Whether a key stops when its event goes to the dead letters; only with order by key.
    pub parking: Parking,
    /// Into how many lanes the events are divided, each for one subscriber at a time; `None`: all
    /// of them get everything.
    pub lanes: Option<NonZeroU32>,
    /// Bounds on memory.
    pub limits: DispatchLimits,
}

impl Default for DispatchOptions {
    fn default() -> Self {
        Self {
            order: Order::None,
            max_attempts: 5,
            backoff: Backoff::default(),
            parking: Parking::Off,
            lanes: None,
            limits: DispatchLimits::default(),
        }
    }
}

/// How many returns (connections that ended under an event) make poison, per permitted attempt.
pub(super) const RETURNS_PER_ATTEMPT: u32 = 4;

/// A reason is for people; what is longer than this many bytes is cut.
pub(super) const REASON_BYTES: usize = 1024;

/// Bounds on what a dispatcher remembers. Reaching one stops fresh events, never redeliveries,
/// so that it can always be left again; [`super::DispatchStatus::limit`] names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DispatchLimits {
    /// Settled ranges beyond the floor. Each is stored with the cursor. Past it nothing more is
    /// scanned; what was scanned before is still handed out.
    pub ranges_above: usize,
    /// Failed events that wait for their backoff or for the dead letters. Past it no fresh event
    /// is handed out.
    pub waiting: usize,
    /// Events held back behind blocked keys, or ready in lanes. Past it nothing more is scanned.
    pub look_ahead: usize,
    /// Scanned and not yet handed out: enough to keep subscribers busy during a read.
    pub ready: usize,
    /// Events that were given back and taken in. The others wait in the store.
    pub given: usize,
    /// Parked keys. Past it no further key is parked, and the event that failed waits at its limit.
    pub parked_keys: usize,
}

impl Default for DispatchLimits {
    fn default() -> Self {
        Self {
            ranges_above: 10_000,
            waiting: 10_000,
            look_ahead: 10_000,
            ready: 4096,
            given: 1000,
            parked_keys: 10_000,
        }
    }
}

impl DispatchLimits {
    /// A limit of nothing would stop the group forever.
    pub(super) fn at_least_one(self) -> Self {
        Self {
            ranges_above: self.ranges_above.max(1),
            waiting: self.waiting.max(1),
            look_ahead: self.look_ahead.max(1),
            ready: self.ready.max(1),
            given: self.given.max(1),
            parked_keys: self.parked_keys.max(1),
        }
    }
}
