//! The floor and what is settled beyond it, as the dispatcher knows it (the stored cursor follows).

use std::ops::Range;

use prom_store::RangeSet;
use prom_types::Offset;

/// Invariant: the floor is the first unsettled offset, and no range above touches it.
#[derive(Debug)]
pub(super) struct SettledOffsets {
    floor: Offset,
    above: RangeSet,
}

impl SettledOffsets {
    pub fn new(floor: Offset, mut above: RangeSet) -> Self {
        let floor = above.take_prefix(floor);
        Self { floor, above }
    }

    pub fn floor(&self) -> Offset {
        self.floor
    }

    /// What is settled beyond the floor.
    pub fn above(&self) -> &RangeSet {
        &self.above
    }

    pub fn ranges_above(&self) -> usize {
        self.above.len()
    }

    pub fn is_settled(&self, offset: Offset) -> bool {
        offset < self.floor || self.above.contains(offset)
    }

    pub fn settle(&mut self, range: Range<Offset>) {
        if range.end <= self.floor || range.is_empty() {
            return;
        }
        if range.start > self.floor {
            self.above.insert(range);
        } else {
            // The usual case: settled in order, nothing above.
            self.floor = range.end;
            if !self.above.is_empty() {
                self.floor = self.above.take_prefix(self.floor);
            }
        }
    }
}
