//! The newest event of each key before an offset: what a compaction goes by that stops short of the end.
//!
//! The latest event of a key may be beyond that offset; what it replaced has to stay then, unless another event before the
//! offset replaced it too. Memory is bounded: of keys that no longer fit it is told that they are not known.

use hashbrown::HashMap;
use prom_types::Offset;

/// Bytes of keys that are remembered at once.
const MOST_BYTES: usize = 32 << 20;
/// What an entry takes beside its key.
const ENTRY_BYTES: usize = 48;

/// Filled in offset order.
#[derive(Debug, Default)]
pub struct KeysBefore {
    newest: HashMap<Box<str>, Offset>,
    bytes: usize,
    /// There are keys that did not fit.
    is_full: bool,
}

impl KeysBefore {
    /// An event of the key.
    pub fn note(&mut self, key: &str, offset: Offset) {
        if let Some(newest) = self.newest.get_mut(key) {
            *newest = offset;
        } else if self.bytes < MOST_BYTES {
            self.bytes += key.len() + ENTRY_BYTES;
            self.newest.insert(key.into(), offset);
        } else {
            self.is_full = true;
        }
    }

    /// Whether a later event of the key, of those that were noted, replaced this one; `None` where that is not known.
    pub fn has_replaced(&self, key: &str, offset: Offset) -> Option<bool> {
        match self.newest.get(key) {
            Some(newest) => Some(*newest > offset),
            None if self.is_full => None,
            None => Some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_event_of_a_key_replaces_those_before() {
        let mut keys = KeysBefore::default();
        keys.note("a", 1);
        keys.note("a", 4);
        assert_eq!((keys.has_replaced("a", 1), keys.has_replaced("a", 4)), (Some(true), Some(false)));
        assert_eq!(keys.has_replaced("b", 2), Some(false));
    }

    #[test]
    fn memory_is_bounded_and_what_did_not_fit_is_told() {
        let mut keys = KeysBefore::default();
        let long = "k".repeat(MOST_BYTES);
        keys.note(&long, 0);
        keys.note("later", 1);
        keys.note(&long, 2);
        assert_eq!((keys.has_replaced("later", 0), keys.has_replaced(&long, 0)), (None, Some(true)));
    }
}
