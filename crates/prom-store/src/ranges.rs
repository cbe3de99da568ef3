//! A set of offsets kept as disjoint, non-adjacent ranges.

use std::collections::BTreeMap;
use std::ops::Range;

use prom_types::Offset;

/// Offsets as ranges. Memory follows the number of ranges, not of offsets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RangeSet(BTreeMap<Offset, Offset>);

impl RangeSet {
    /// Adds a range, merging what it touches.
    pub fn insert(&mut self, range: Range<Offset>) {
        let Range { mut start, mut end } = range;
        if start >= end {
            return;
        }
        if let Some((&before, before_end)) = self.0.range_mut(..=start).next_back() {
            if *before_end >= end {
                return;
            }
            if *before_end >= start {
                start = before;
            }
        }
        while let Some((&next, &next_end)) = self.0.range(start..=end).next() {
            end = end.max(next_end);
            self.0.remove(&next);
        }
        self.0.insert(start, end);
    }

    /// Removes the range that begins at `from`, if there is one, and returns its end; otherwise returns `from`. Ranges
    /// entirely before `from` are removed as well.
    pub fn take_prefix(&mut self, from: Offset) -> Offset {
        while let Some((&start, &end)) = self.0.first_key_value() {
            if start > from {
                return from;
            }
            self.0.remove(&start);
            if end > from {
                return end;
            }
        }
        from
    }

    pub fn contains(&self, offset: Offset) -> bool {
        self.0.range(..=offset).next_back().is_some_and(|(_, &end)| end > offset)
    }

    /// How many of the offsets in `within` are in the set.
    pub fn count_within(&self, within: Range<Offset>) -> u64 {
        let clipped = |(&start, &end): (&Offset, &Offset)| end.min(within.end).saturating_sub(start.max(within.start));
        self.0.range(..within.end).map(clipped).sum()
    }

    pub fn iter(&self) -> impl Iterator<Item = Range<Offset>> {
        self.0.iter().map(|(&start, &end)| start..end)
    }

    /// The number of ranges.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl FromIterator<Range<Offset>> for RangeSet {
    fn from_iter<I: IntoIterator<Item = Range<Offset>>>(ranges: I) -> Self {
        let mut set = Self::default();
        ranges.into_iter().for_each(|range| set.insert(range));
        set
    }
}
