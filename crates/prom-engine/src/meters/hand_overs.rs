//! When leases were handed over: an entry per batch instead of one per event.
//!
//! Leases are numbered as they are given out, so the time of the first of a batch is that of all up
//! to the next entry. Entries are bounded: when there are too many, those are dropped that tell
//! little. A lease of theirs then has the time of an older neighbour, and looks at most an eighth
//! older than it is.

use std::time::Duration;

use crate::dispatch::LeaseId;

/// Enough for leases of every age from microseconds to days.
const ENTRIES: usize = 256;
/// By what share of its age a lease may look older.
const PRECISION: u32 = 8;

/// In the order in which they happened.
#[derive(Debug, Default)]
pub(crate) struct HandOvers(Vec<HandOver>);

#[derive(Debug, Clone, Copy)]
struct HandOver {
    first: LeaseId,
    at: Duration,
}

impl HandOvers {
    /// Leases from `first` on were handed over now.
    pub fn note(&mut self, first: LeaseId, now: Duration) {
        if self.0.last().is_some_and(|last| last.at == now) {
            return;
        }
        if self.0.len() >= ENTRIES {
            self.thin_out(now);
        }
        self.0.push(HandOver { first, at: now });
    }

    /// When a lease was handed over.
    pub fn time_of(&self, lease: LeaseId) -> Duration {
        let after = self.0.partition_point(|entry| entry.first <= lease);
        self.0.get(after.saturating_sub(1)).map_or(Duration::ZERO, |entry| entry.at)
    }

    /// Drops every entry whose leases can be told by the one before it; if that is not enough, the oldest.
    fn thin_out(&mut self, now: Duration) {
        let mut kept = 1;
        for at in 1..self.0.len() {
            let before = self.0[kept - 1].at;
            let is_needed = |next: &HandOver| next.at - before > now.saturating_sub(next.at) / PRECISION;
            if self.0.get(at + 1).is_none_or(is_needed) {
                self.0[kept] = self.0[at];
                kept += 1;
            }
        }
        self.0.truncate(kept);
        self.0.drain(..kept.saturating_sub(ENTRIES * 3 / 4));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    #[test]
    fn a_lease_has_the_time_of_its_batch() {
        let mut hand_overs = HandOvers::default();
        hand_overs.note(1, ms(10));
        hand_overs.note(4, ms(10));
        hand_overs.note(8, ms(30));
        let times: Vec<_> = [1, 3, 4, 7, 8, 900].map(|lease| hand_overs.time_of(lease)).into();
        assert_eq!(times, [ms(10), ms(10), ms(10), ms(10), ms(30), ms(30)]);
    }

    #[test]
    fn memory_is_bounded_and_the_error_small_beside_the_age() {
        let mut hand_overs = HandOvers::default();
        let last = 1_000_000;
        (1..=last).for_each(|lease| hand_overs.note(lease, ms(lease)));
        assert!(hand_overs.0.len() <= ENTRIES);
        assert_eq!(hand_overs.time_of(last), ms(last));
        for lease in 1..last {
            let error = ms(lease) - hand_overs.time_of(lease);
            let age = ms(last) - ms(lease);
            assert!(error <= age / PRECISION, "lease {lease}: {error:?} of {age:?}");
        }
    }
}
