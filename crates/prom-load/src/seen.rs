//! Which events have arrived: a bit for each number, so that every one can be accounted for however many there are.
//!
//! Several connections mark at the same time. Each has a [`Marker`] that remembers where it was, so that a mark takes no
//! lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

const WORDS: usize = 1024;
const NUMBERS: u64 = WORDS as u64 * 64;
/// Numbers grow by one, so one that is this many chunks ahead of all others is not one of ours.
const FAR_AHEAD: usize = 4096;

/// The marks of neighbouring numbers.
type Chunk = Arc<[AtomicU64; WORDS]>;

#[derive(Debug, Default)]
pub(crate) struct SeenNumbers {
    chunks: RwLock<Vec<Chunk>>,
}

/// One connection's way to the marks.
#[derive(Debug)]
pub(crate) struct Marker {
    seen: Arc<SeenNumbers>,
    last: Option<(u64, Chunk)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    New,
    Repeated,
    /// No event has this number.
    Foreign,
}

impl SeenNumbers {
    pub fn marker(self: &Arc<Self>) -> Marker {
        Marker { seen: self.clone(), last: None }
    }

    pub fn contains(&self, number: u64) -> bool {
        let chunks = self.chunks.read();
        usize::try_from(number / NUMBERS).ok().and_then(|at| chunks.get(at)).is_some_and(|chunk| {
            let (word, bit) = position(number);
            chunk[word].load(Ordering::Relaxed) & bit != 0
        })
    }

    fn chunk(&self, at: u64) -> Option<Chunk> {
        let at = usize::try_from(at).ok()?;
        if let Some(chunk) = self.chunks.read().get(at) {
            return Some(chunk.clone());
        }
        let mut chunks = self.chunks.write();
        if at > chunks.len() + FAR_AHEAD {
            return None;
        }
        while chunks.len() <= at {
            chunks.push(Arc::new(std::array::from_fn(|_| AtomicU64::new(0))));
        }
        chunks.get(at).cloned()
    }
}

/// The word in its chunk and the bit in its word.
fn position(number: u64) -> (usize, u64) {
    ((number % NUMBERS / 64) as usize, 1 << (number % 64))
}

impl Marker {
    pub fn mark(&mut self, number: u64) -> Mark {
        let at = number / NUMBERS;
        if self.last.as_ref().is_none_or(|(before, _)| *before != at) {
            self.last = self.seen.chunk(at).map(|chunk| (at, chunk));
        }
        let Some((_, chunk)) = &self.last else {
            return Mark::Foreign;
        };
        let (word, bit) = position(number);
        let before = chunk[word].fetch_or(bit, Ordering::Relaxed);
        if before & bit == 0 { Mark::New } else { Mark::Repeated }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_new_once_to_all_markers_together() {
        let seen = Arc::new(SeenNumbers::default());
        let (mut one, mut other) = (seen.marker(), seen.marker());
        for number in [0, 63, 64, NUMBERS - 1, NUMBERS, 3 * NUMBERS + 5] {
            assert!(!seen.contains(number));
            assert_eq!(one.mark(number), Mark::New);
            assert_eq!(other.mark(number), Mark::Repeated);
            assert!(seen.contains(number));
        }
        assert!(!seen.contains(1));
    }

    #[test]
    fn a_number_far_ahead_is_foreign_and_costs_no_memory() {
        let seen = Arc::new(SeenNumbers::default());
        assert_eq!(seen.marker().mark(1 << 47), Mark::Foreign);
        assert!(!seen.contains(1 << 47));
    }
}
