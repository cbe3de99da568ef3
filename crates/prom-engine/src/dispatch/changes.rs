//! What must become durable: offsets settled and failures counted since the last time.
//!
//! The dispatcher goes on without waiting for the store. A change whose commit failed is put back
//! and travels with the next one, so the stored cursor may be late, never ahead and never short.

use std::collections::BTreeSet;
use std::mem;
use std::ops::Range;

use prom_store::Failures;
use prom_types::Offset;

use super::Dispatcher;

/// To be committed as one [`prom_store::CursorChange::Settle`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// In order, disjoint, not touching.
    pub settled: Vec<Range<Offset>>,
    /// Absolute, by offset.
    pub failures: Vec<(Offset, Failures)>,
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
    resets: u64,
}

const MERGE_FROM: usize = 1024;

impl Default for PendingChanges {
    fn default() -> Self {
        Self { settled: Vec::new(), merge_at: MERGE_FROM, failed: BTreeSet::new(), resets: 0 }
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

    pub fn reset(&mut self) {
        self.settled.clear();
        self.failed.clear();
        self.resets += 1;
    }

    fn is_empty(&self) -> bool {
        self.settled.is_empty() && self.failed.is_empty()
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
        let counted = |offset| self.failures.get(&offset).map(|failures| (offset, failures.clone()));
        Some(Changes {
            settled,
            failures: failed.into_iter().filter_map(counted).collect(),
            resets: self.changes.resets,
        })
    }

    /// Puts back changes whose commit failed; the next [`Self::take_changes`] carries them again.
    pub fn restore_changes(&mut self, changes: Changes) {
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
