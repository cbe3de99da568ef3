//! Which events have been seen: a bit for each, so that every one can be accounted for however many there are.
//!
//! Several readers mark at the same time; a mark that was there before is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

use super::payload::Label;

const WORDS: usize = 1024;
const EVENTS: u64 = WORDS as u64 * 64;

/// The marks of neighbouring events of one publisher.
type Chunk = Arc<[AtomicU64; WORDS]>;

/// All marks, by publisher.
#[derive(Debug)]
pub struct Seen {
    publishers: Vec<RwLock<Vec<Chunk>>>,
}

/// One reader's way to the marks: it remembers where it was.
#[derive(Debug)]
pub struct Marker {
    seen: Arc<Seen>,
    last: Vec<Option<(u64, Chunk)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    New,
    Repeated,
    /// Nobody sends such events.
    Foreign,
}

impl Seen {
    pub fn new(publishers: usize) -> Arc<Self> {
        Arc::new(Self { publishers: (0..publishers).map(|_| RwLock::default()).collect() })
    }

    pub fn marker(self: &Arc<Self>) -> Marker {
        Marker { seen: self.clone(), last: vec![None; self.publishers.len()] }
    }

    pub fn is_seen(&self, publisher: usize, number: u64) -> bool {
        let Some(chunks) = self.publishers.get(publisher) else {
            return false;
        };
        let chunks = chunks.read();
        usize::try_from(number / EVENTS).ok().and_then(|at| chunks.get(at)).is_some_and(|chunk| {
            let (word, bit) = place(number);
            chunk[word].load(Ordering::Relaxed) & bit != 0
        })
    }

    fn chunk(&self, publisher: usize, at: u64) -> Option<Chunk> {
        let chunks = self.publishers.get(publisher)?;
        let at = usize::try_from(at).ok()?;
        if let Some(chunk) = chunks.read().get(at) {
            return Some(chunk.clone());
        }
        let mut chunks = chunks.write();
        // Numbers grow by one, so one far beyond is not one of ours.
        if at > chunks.len() + FAR_AHEAD {
            return None;
        }
        while chunks.len() <= at {
            chunks.push(Arc::new(std::array::from_fn(|_| AtomicU64::new(0))));
        }
        chunks.get(at).cloned()
    }
}

/// In chunks: topics may be far apart, but not by as much as this.
const FAR_AHEAD: usize = 4096;

fn place(number: u64) -> (usize, u64) {
    ((number % EVENTS / 64) as usize, 1 << (number % 64))
}

impl Marker {
    pub fn mark(&mut self, label: Label) -> Mark {
        let publisher = usize::from(label.publisher);
        let Some(last) = self.last.get_mut(publisher) else {
            return Mark::Foreign;
        };
        let at = label.number / EVENTS;
        if last.as_ref().is_none_or(|(before, _)| *before != at) {
            *last = self.seen.chunk(publisher, at).map(|chunk| (at, chunk));
        }
        let Some((_, chunk)) = last else {
            return Mark::Foreign;
        };
        let (word, bit) = place(label.number);
        match chunk[word].fetch_or(bit, Ordering::Relaxed) & bit {
            0 => Mark::New,
            _ => Mark::Repeated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(publisher: u16, number: u64) -> Label {
        Label { publisher, number, due_ns: 0 }
    }

    #[test]
    fn each_event_is_new_once_whoever_marks_it() {
        let seen = Seen::new(2);
        let (mut one, mut other) = (seen.marker(), seen.marker());
        for number in [0, 63, 64, EVENTS - 1, EVENTS, 3 * EVENTS + 5] {
            assert!(!seen.is_seen(1, number));
            assert_eq!(one.mark(label(1, number)), Mark::New);
            assert_eq!(other.mark(label(1, number)), Mark::Repeated);
            assert!(seen.is_seen(1, number) && !seen.is_seen(0, number));
        }
    }

    #[test]
    fn events_of_nobody_are_told_apart_and_cost_no_memory() {
        let seen = Seen::new(1);
        let mut marker = seen.marker();
        assert_eq!(marker.mark(label(1, 0)), Mark::Foreign);
        assert_eq!(marker.mark(label(0, 1 << 47)), Mark::Foreign);
        assert!(!seen.is_seen(0, 1 << 47) && !seen.is_seen(7, 0));
    }
}
