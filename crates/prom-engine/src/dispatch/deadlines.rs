//! When leases end, soonest first.
//!
//! Most leases are acked long before their deadline, and taking each out of a heap would cost more
//! than the ack itself. So an ended lease leaves its entry behind, and the heap is swept once more
//! than half of it is stale: memory follows the leases that are alive, at constant cost per lease.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use prom_types::Offset;

use super::LeaseId;

/// Below this a sweep is not worth its while.
const SWEEP_FROM: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deadline {
    pub at: Duration,
    pub lease: LeaseId,
    pub offset: Offset,
}

#[derive(Debug, Default)]
pub(super) struct Deadlines(BinaryHeap<Reverse<Deadline>>);

impl Deadlines {
    /// Adds one. `alive` leases exist, this one included; `is_alive` tells an entry that still
    /// counts from a stale one.
    pub fn push(&mut self, deadline: Deadline, alive: usize, is_alive: impl Fn(&Deadline) -> bool) {
        if self.0.len() > 2 * alive + SWEEP_FROM {
            self.0.retain(|Reverse(entry)| is_alive(entry));
        }
        self.0.push(Reverse(deadline));
    }

    /// At or before the first live deadline.
    pub fn next(&self) -> Option<Duration> {
        self.0.peek().map(|Reverse(entry)| entry.at)
    }

    /// Takes one entry that is due, stale or not.
    pub fn pop_due(&mut self, now: Duration) -> Option<Deadline> {
        if self.next()? > now {
            return None;
        }
        self.0.pop().map(|Reverse(entry)| entry)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
