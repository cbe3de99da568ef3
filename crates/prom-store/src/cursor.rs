//! Cursors: what a group has settled in a log, and how often the rest has failed.
//!
//! ```text
//!   settled ─────────────────┐ floor      above: [14,16) [19,20)
//!   0 1 2 3 4 5 6 7 8 9 10 11│12 13 ▓▓ ▓▓ 16 17 18 ▓▓
//! ```
//!
//! The floor is the first unsettled offset. It moves over contiguous settled offsets and never past an unsettled one.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use async_trait::async_trait;
use prom_types::{GroupName, Offset, TopicName};
use serde::{Deserialize, Serialize};

use crate::{LogName, RangeSet, StoreError};

/// The cursor of one group in one log.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CursorName {
    pub log: LogName,
    pub group: GroupName,
}

impl CursorName {
    pub fn new(log: LogName, group: GroupName) -> Self {
        Self { log, group }
    }
}

impl fmt::Display for CursorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}::{}", self.log.topic, self.log.partition, self.group)
    }
}

impl fmt::Debug for CursorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How many deliveries of an unsettled event failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failures {
    /// Nacks and expired leases.
    pub attempts: u32,
    /// Leases returned because a connection ended.
    pub returns: u32,
    /// The last reason, truncated.
    pub reason: Option<String>,
}

/// Everything a dispatcher needs to continue where another stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CursorState {
    /// Raised by every takeover and every reset. Changes under an older epoch are refused.
    pub epoch: u64,
    /// The first unsettled offset.
    pub floor: Offset,
    /// Settled offsets beyond the floor.
    pub above: RangeSet,
    /// Unsettled offsets that failed before.
    pub failures: BTreeMap<Offset, Failures>,
}

/// A durable step of a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CursorChange {
    /// Creates the cursor at `floor`. An existing cursor is left alone.
    Create { floor: Offset },
    /// Settles offsets and records failures (absolute, not added). Refused unless `epoch` is current.
    /// Settling twice changes nothing; a failure of a settled offset is ignored.
    Settle { epoch: u64, settled: Vec<Range<Offset>>, failures: Vec<(Offset, Failures)> },
    /// Moves the floor, forgets the rest, raises the epoch.
    Reset { floor: Offset },
    /// Deletes the cursor.
    Delete,
}

impl CursorState {
    pub fn at(floor: Offset) -> Self {
        Self { floor, ..Self::default() }
    }

    /// Settles a range and moves the floor over what has become contiguous.
    pub fn settle(&mut self, range: Range<Offset>) {
        let from = range.start.max(self.floor);
        if from >= range.end {
            return;
        }
        if from == self.floor && self.above.is_empty() {
            self.floor = range.end;
        } else {
            self.above.insert(from..range.end);
            self.floor = self.above.take_prefix(self.floor);
        }
        while let Some((&offset, _)) = self.failures.range(from..range.end).next() {
            self.failures.remove(&offset);
        }
    }

    pub fn is_settled(&self, offset: Offset) -> bool {
        offset < self.floor || self.above.contains(offset)
    }

    /// Applies the contents of a [`CursorChange::Settle`]. Applying it twice changes nothing.
    pub fn apply(&mut self, settled: &[Range<Offset>], failures: &[(Offset, Failures)]) {
        for (offset, failure) in failures {
            if !self.is_settled(*offset) {
                self.failures.insert(*offset, failure.clone());
            }
        }
        for range in settled {
            self.settle(range.clone());
        }
    }

    /// Retained, unsettled events between the cursor and `next`, holes counted as events.
    pub fn lag(&self, start: Offset, next: Offset) -> u64 {
        let from = self.floor.max(start);
        next.saturating_sub(from) - self.above.count_within(from..next.max(from))
    }
}

/// Reading cursors and taking them over. They change through commits.
#[async_trait]
pub trait Cursors: Send + Sync {
    /// Raises the epoch durably and returns the state under it: from now on only the caller's changes are accepted.
    /// Creates the cursor at `floor_if_new` if there is none; in a log that began anew not before that.
    async fn take_cursor(&self, cursor: &CursorName, floor_if_new: Offset) -> Result<CursorState, StoreError>;

    async fn cursor(&self, cursor: &CursorName) -> Result<Option<CursorState>, StoreError>;

    /// The cursors of a topic, or all.
    async fn cursors(&self, topic: Option<&TopicName>) -> Result<Vec<(CursorName, CursorState)>, StoreError>;
}
