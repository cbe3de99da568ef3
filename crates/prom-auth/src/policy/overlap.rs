//! Whether two patterns both match some topic name.
//!
//! Promises: exact except at the maximum length, as for covering: it may find a common name that would be too long, and
//! then denies more, never less. Time is linear in the product of the segment counts.

use prom_types::TopicPattern;

use super::shape::{hub_words, is_hub_word};

/// Whether some name is matched by both.
pub fn overlaps(one: &TopicPattern, other: &TopicPattern) -> bool {
    let table = CommonTails::of(one.split('.').collect(), other.split('.').collect());
    if !one.starts_with('*') && !other.starts_with('*') {
        return table.from(0, 0);
    }
    // One of them begins with a wildcard, so they share no topic of the hub. What remains are the hub's words as
    // one-segment names, and names that begin with another word.
    let alone = |word: &str| one.matches(word) && other.matches(word);
    hub_words().into_iter().any(alone) || table.begins_outside_the_hub()
}

/// For every pair of positions: whether the rests of both patterns have a sequence of segments in common.
struct CommonTails<'p> {
    one: Vec<&'p str>,
    other: Vec<&'p str>,
    /// Row by row: `one.len() + 1` rows of `other.len() + 1`.
    common: Vec<bool>,
}

impl<'p> CommonTails<'p> {
    fn of(one: Vec<&'p str>, other: Vec<&'p str>) -> Self {
        let common = vec![false; (one.len() + 1) * (other.len() + 1)];
        let mut table = Self { one, other, common };
        for row in (0..=table.one.len()).rev() {
            for column in (0..=table.other.len()).rev() {
                let index = table.index(row, column);
                table.common[index] = table.judge(row, column);
            }
        }
        table
    }

    fn index(&self, row: usize, column: usize) -> usize {
        row * (self.other.len() + 1) + column
    }

    fn from(&self, row: usize, column: usize) -> bool {
        self.common[self.index(row, column)]
    }

    fn judge(&self, row: usize, column: usize) -> bool {
        match (self.one.get(row), self.other.get(column)) {
            (None, None) => true,
            // A `**` matches nothing more, or the opposite segment.
            (Some(&"**"), right) => self.from(row + 1, column) || (right.is_some() && self.from(row, column + 1)),
            (left, Some(&"**")) => self.from(row, column + 1) || (left.is_some() && self.from(row + 1, column)),
            (Some(left), Some(right)) => common_segment(left, right).is_some() && self.from(row + 1, column + 1),
            _ => false,
        }
    }

    /// A common name whose first segment is not one of the hub's words.
    fn begins_outside_the_hub(&self) -> bool {
        let rights = beginnings(&self.other);
        beginnings(&self.one).into_iter().any(|(left, row)| {
            rights.iter().any(|&(right, column)| {
                common_segment(left, right).is_some_and(|first| !is_hub_word(first)) && self.from(row, column)
            })
        })
    }
}

/// What a name can begin with, and where the pattern continues after it.
fn beginnings<'p>(segments: &[&'p str]) -> Vec<(&'p str, usize)> {
    let mut found = Vec::new();
    for (position, &segment) in segments.iter().enumerate() {
        if segment != "**" {
            found.push((segment, position + 1));
            break;
        }
        found.push(("*", position));
    }
    found
}

/// The segment that both allow; `*` if it can be any.
fn common_segment<'p>(left: &'p str, right: &'p str) -> Option<&'p str> {
    match (left, right) {
        ("*", any) | (any, "*") => Some(any),
        (left, right) => (left == right).then_some(left),
    }
}
