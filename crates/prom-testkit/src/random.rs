//! Randomness that a seed reproduces. Fast and even enough for tests; not for secrets.

use std::ops::Range;

/// A stream of numbers that depends only on the seed.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits: a counter in steps of an odd constant, its bits mixed (splitmix64).
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number in the range; its start if the range is empty.
    pub fn within(&mut self, range: Range<u64>) -> u64 {
        match range.end.saturating_sub(range.start) {
            0 => range.start,
            width => range.start + self.next_u64() % width,
        }
    }

    /// An index below `length`; 0 if it is 0.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.within(0..length as u64)).unwrap_or(0)
    }

    /// True once in `out_of` on average.
    pub fn one_in(&mut self, out_of: u64) -> bool {
        self.within(0..out_of.max(1)) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.index(from.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_stream_and_another_does_not() {
        let stream = |seed| {
            let mut random = Random::seeded(seed);
            (0..50).map(|_| random.next_u64()).collect::<Vec<_>>()
        };
        assert_eq!(stream(7), stream(7));
        assert_ne!(stream(7), stream(8));
    }

    #[test]
    fn numbers_stay_within_their_range_and_reach_all_of_it() {
        let mut random = Random::seeded(1);
        let mut seen = [false; 5];
        for _ in 0..1_000 {
            let number = random.within(10..15);
            seen[usize::try_from(number - 10).unwrap()] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(random.within(3..3), 3);
    }
}
