//! Whether one pattern matches every topic name that another can match.
//!
//! Names have at least one segment, a pattern that begins with a wildcard does not match the hub's topics, and a
//! wildcard may match a word that no pattern mentions. So the outer pattern's words must occur among the inner one's
//! words, in order, and the outer pattern must allow each gap between two of them, however many segments the inner
//! wildcards match. One such placement serves all names: if two placements each serve some of them, the left part of
//! one and the right part of the other serve both.
//!
//! Promises: exact except at the maximum length: a pattern so long that its wildcards have no room left is treated as
//! if they had room. That refuses more, never less. Time is linear in the product of the segment counts.

use prom_types::TopicPattern;

use super::shape::{PatternShape, WildcardGap, is_hub_word};

/// Whether `outer` matches every name that `inner` matches.
pub fn covers(outer: &TopicPattern, inner: &TopicPattern) -> bool {
    let outer_shape = PatternShape::of(outer);
    let mut inner_shape = PatternShape::of(inner);
    let first = inner_shape.words.first().copied();
    match first.filter(|_| inner_shape.gaps[0].at_least == 0) {
        // `**` alone: no name is empty.
        None => inner_shape.gaps[0].at_least = inner_shape.gaps[0].at_least.max(1),
        Some(word) if !is_hub_word(word) => {}
        // `**.dlq…`: with nothing before the word it would be a topic of the hub, which a wildcard does not match. The
        // word alone is an ordinary name.
        Some(word) if inner_shape.gaps[0].open => {
            if inner.matches(word) && !outer.matches(word) {
                return false;
            }
            inner_shape.gaps[0].at_least = 1;
        }
        // `dlq.…`: the hub's topics, which no wildcard reaches.
        Some(_) if outer_shape.starts_wild() && !inner_shape.is_one_word() => return false,
        Some(_) => {}
    }
    can_be_placed(&outer_shape, &inner_shape)
}

/// Walks the outer words from left to right and keeps all inner words that each may match. The beginning and the end of
/// the name count as words, at the first and the last place.
fn can_be_placed(outer: &PatternShape<'_>, inner: &PatternShape<'_>) -> bool {
    let distances = Distances::of(inner);
    let end = inner.words.len() + 1;
    let mut reachable = vec![false; end + 1];
    reachable[0] = true;
    for (index, gap) in outer.gaps.iter().enumerate() {
        let word = outer.words.get(index);
        let fits = |place: usize| match word {
            Some(word) => place != end && inner.words[place - 1] == *word,
            None => place == end,
        };
        let next = |place: usize| place > 0 && fits(place) && distances.reaches(&reachable, place, *gap);
        reachable = (0..=end).map(next).collect();
    }
    reachable[end]
}

/// The distances between the places of a shape.
struct Distances {
    /// The place's position in the shortest name, strictly increasing.
    position: Vec<usize>,
    /// How many open gaps come before the place.
    open_gaps: Vec<usize>,
}

impl Distances {
    fn of(shape: &PatternShape<'_>) -> Self {
        let (mut position, mut open_gaps) = (vec![0], vec![0]);
        for (place, gap) in shape.gaps.iter().enumerate() {
            position.push(position[place] + gap.at_least + 1);
            open_gaps.push(open_gaps[place] + usize::from(gap.open));
        }
        Self { position, open_gaps }
    }

    /// Whether some reachable place is before `place` at a distance that the gap always allows.
    fn reaches(&self, reachable: &[bool], place: usize, gap: WildcardGap) -> bool {
        let Some(latest) = self.position[place].checked_sub(gap.at_least + 1) else { return false };
        if gap.open {
            // The leftmost one is the farthest, so no other can do better.
            let leftmost = reachable.iter().position(|reachable| *reachable);
            return leftmost.is_some_and(|from| from < place && self.position[from] <= latest);
        }
        let exactly = self.position.binary_search(&latest);
        exactly.is_ok_and(|from| reachable[from] && self.open_gaps[from] == self.open_gaps[place])
    }
}
