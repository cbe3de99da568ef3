//! Per-key order: which keys have an unsettled event out, and what is held back behind it.
//!
//! A key is here from the scan of its first unsettled event (its head) until nothing of it is
//! unsettled. Followers are in offset order and all lie beyond the head. Two keys of the same hash
//! share a queue: more order than asked for, never less.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use prom_types::Offset;

#[derive(Debug, Default)]
pub(super) struct KeyOrder {
    followers: HashMap<u64, VecDeque<Offset>, FixedState>,
    blocked: usize,
}

/// What to do with an event that was just seen.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing of its key is unsettled before it.
    Now,
    /// Held back here until its predecessors are settled.
    Blocked,
}

impl KeyOrder {
    pub fn queue(&mut self, key: u64, offset: Offset) -> Turn {
        match self.followers.entry(key) {
            Entry::Vacant(vacant) => {
                vacant.insert(VecDeque::new());
                Turn::Now
            }
            Entry::Occupied(mut occupied) => {
                occupied.get_mut().push_back(offset);
                self.blocked += 1;
                Turn::Blocked
            }
        }
    }

    /// Whether an event of the key is out.
    pub fn is_busy(&self, key: u64) -> bool {
        self.followers.contains_key(&key)
    }

    /// Forgets the key; those that were held back, in order.
    pub fn take_all(&mut self, key: u64) -> VecDeque<Offset> {
        let followers = self.followers.remove(&key).unwrap_or_default();
        self.blocked -= followers.len();
        followers
    }

    /// The key's head was settled: the event that is now the head, if there is one.
    pub fn head_settled(&mut self, key: u64) -> Option<Offset> {
        let Entry::Occupied(mut occupied) = self.followers.entry(key) else {
            return None;
        };
        let next = occupied.get_mut().pop_front();
        match next {
            Some(_) => self.blocked -= 1,
            None => {
                occupied.remove();
            }
        }
        next
    }

    /// Forgets followers before `start`; heads are the caller's.
    pub fn forget_before(&mut self, start: Offset) {
        for queue in self.followers.values_mut() {
            let gone = queue.partition_point(|&offset| offset < start);
            queue.drain(..gone);
            self.blocked -= gone;
        }
    }

    /// Forgets one follower; false if it is none.
    pub fn forget(&mut self, offset: Offset) -> bool {
        for queue in self.followers.values_mut() {
            if let Ok(at) = queue.binary_search(&offset) {
                queue.remove(at);
                self.blocked -= 1;
                return true;
            }
        }
        false
    }

    pub fn clear(&mut self) {
        self.followers.clear();
        self.blocked = 0;
    }

    pub fn blocked_events(&self) -> usize {
        self.blocked
    }

    /// Counts; for people, not for the hot path.
    pub fn blocked_keys(&self) -> usize {
        self.followers.values().filter(|queue| !queue.is_empty()).count()
    }
}
