//! What must become durable: offsets settled and failures counted since the last time.
//!
//! The dispatcher goes on without waiting for the store. A change whose commit failed is put back
//! and travels with the next one, so the stored cursor may be late, never ahead and never short.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::ops::Range;

use prom_store::Failures;
use prom_types::Offset;

use super::unsettled::EventState;
use super::{Dispatcher, GivenStep};

/// To be committed as one [`prom_store::CursorChange::Settle`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// In order, disjoint, not touching.
    pub settled: Vec<Range<Offset>>,
    /// Absolute, by offset.
    pub failures: Vec<(Offset, Failures)>,
    /// What became of events that were given back, by offset.
    pub given: Vec<(Offset, GivenStep)>,
    /// Parked keys of which nothing is left.
    pub unparked: Vec<u64>,
    /// Changes from before a reset must not come back after it.
    resets: u64,
}

/// Ranges merge where they meet at once, otherwise when there are twice as many as last time:
/// however long a commit takes, memory follows the number of disjoint ranges.
#[derive(Debug)]
pub(super) struct PendingChanges {
    settled: Vec<Range<Offset>>,
    merge_at: usize,
    failed: BTreeSet<Offset>,
    given: BTreeMap<Offset, GivenStep>,
    unparked: BTreeSet<u64>,
    resets: u64,
}

const MERGE_FROM: usize = 1024;

impl Default for PendingChanges {
    fn default() -> Self {
        Self {
            settled: Vec::new(),
            merge_at: MERGE_FROM,
            failed: BTreeSet::new(),
            given: BTreeMap::new(),
            unparked: BTreeSet::new(),
            resets: 0,
        }
    }
}

impl PendingChanges {
    pub fn settle(&mut self, range: Range<Offset>) {
        match self.settled.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => {
                if self.settled.len() >= self.merge_at {
                    merge(&mut self.settled);
                    self.merge_at = MERGE_FROM.max(2 * self.settled.len());
                }
                self.settled.push(range);
            }
        }
    }

    pub fn fail(&mut self, offset: Offset) {
        self.failed.insert(offset);
    }

    /// What is settled needs no count any more.
    pub fn forget_failure(&mut self, offset: Offset) {
        self.failed.remove(&offset);
    }

    /// An event that was given back is done.
    pub fn give(&mut self, offset: Offset, step: GivenStep) {
        self.given.insert(offset, step);
    }

    pub fn unpark(&mut self, key: u64) {
        self.unparked.insert(key);
    }

    pub fn parked_again(&mut self, key: u64) {
        self.unparked.remove(&key);
    }

    /// What was given back is no part of the log's progress: that it is done stays true.
    pub fn reset(&mut self) {
        self.settled.clear();
        self.failed.clear();
        self.resets += 1;
    }

    fn is_empty(&self) -> bool {
        self.settled.is_empty() && self.failed.is_empty() && self.given.is_empty() && self.unparked.is_empty()
    }
}

fn merge(ranges: &mut Vec<Range<Offset>>) {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|later, earlier| {
        let touches = later.start <= earlier.end;
        if touches {
            earlier.end = earlier.end.max(later.end);
        }
        touches
    });
}

impl Dispatcher {
    /// Everything since the last call, merged; `None` if there is nothing to commit.
    pub fn take_changes(&mut self) -> Option<Changes> {
        if self.changes.is_empty() {
            return None;
        }
        let mut settled = mem::take(&mut self.changes.settled);
        merge(&mut settled);
        self.changes.merge_at = MERGE_FROM;
        let failed = mem::take(&mut self.changes.failed);
        let mut given: Vec<_> = mem::take(&mut self.changes.given).into_iter().collect();
        let mut failures = Vec::new();
        for offset in failed {
            let Some(counted) = self.failures.get(&offset).cloned() else {
                continue;
            };
            if self.is_given(offset) {
                // The letter of one that is dead says all of it, and must not be undone by this.
                if self.unsettled.get(offset).is_some_and(|event| matches!(event.state, EventState::Dead(_))) {
                    continue;
                }
                given.push((offset, GivenStep::Failed(counted)));
            } else {
                failures.push((offset, counted));
            }
        }
        let changes = Changes {
            settled,
            failures,
            given,
            unparked: mem::take(&mut self.changes.unparked).into_iter().collect(),
            resets: self.changes.resets,
        };
        let Changes { settled, failures, given, unparked, .. } = &changes;
        let is_empty = settled.is_empty() && failures.is_empty() && given.is_empty() && unparked.is_empty();
        (!is_empty).then_some(changes)
    }

    /// Puts back changes whose commit failed; the next [`Self::take_changes`] carries them again.
    pub fn restore_changes(&mut self, changes: Changes) {
        for (offset, step) in changes.given {
            match step {
                GivenStep::Failed(_) if self.failures.contains_key(&offset) => self.changes.fail(offset),
                GivenStep::Failed(_) => {}
                done => self.changes.give(offset, done),
            }
        }
        for key in changes.unparked {
            if !self.is_parked(key) {
                self.changes.unpark(key);
            }
        }
        if changes.resets != self.changes.resets {
            return;
        }
        for range in changes.settled {
            self.changes.settle(range);
        }
        for (offset, _) in changes.failures {
            if self.failures.contains_key(&offset) {
                self.changes.fail(offset);
            }
        }
    }
}
