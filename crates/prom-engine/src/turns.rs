//! A queue of dispatchers that wait for their turn. Leaving it from the middle costs no search, so
//! that a subscriber of ten thousand topics pays per event what a subscriber of one does.

use std::collections::VecDeque;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::dispatch::DispatcherWake;

/// First come, first served; each waits at most once.
#[derive(Default)]
pub(crate) struct Turns {
    /// Entries whose number is not the one in `waiting` have left.
    queue: VecDeque<(u64, Arc<DispatcherWake>)>,
    waiting: HashMap<usize, u64, FixedState>,
    next_number: u64,
}

/// Left entries that may stay in the queue beside each waiting one before it is swept.
const SWEEP_FROM: usize = 64;

impl Turns {
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Queues up; one that waits already keeps its place.
    pub fn join(&mut self, wake: &Arc<DispatcherWake>) {
        if self.waiting.contains_key(&identity(wake)) {
            return;
        }
        if self.queue.len() > 2 * self.waiting.len() + SWEEP_FROM {
            let waiting = &self.waiting;
            self.queue.retain(|(number, wake)| waiting.get(&identity(wake)) == Some(number));
        }
        self.waiting.insert(identity(wake), self.next_number);
        self.queue.push_back((self.next_number, wake.clone()));
        self.next_number += 1;
    }

    pub fn leave(&mut self, wake: &Arc<DispatcherWake>) {
        if !self.waiting.is_empty() {
            self.waiting.remove(&identity(wake));
        }
    }

    /// Whose turn it is.
    pub fn first(&mut self) -> Option<&Arc<DispatcherWake>> {
        if self.queue.is_empty() {
            return None;
        }
        let waiting = &self.waiting;
        let has_left = |(number, wake): &mut (u64, Arc<DispatcherWake>)| waiting.get(&identity(wake)) != Some(number);
        while self.queue.pop_front_if(has_left).is_some() {}
        self.queue.front().map(|(_, wake)| wake)
    }

    /// True if no other is first.
    pub fn is_turn_of(&mut self, wake: &Arc<DispatcherWake>) -> bool {
        self.first().is_none_or(|first| Arc::ptr_eq(first, wake))
    }
}

/// An entry in the queue keeps its dispatcher's wake alive, so an address means one dispatcher.
fn identity(wake: &Arc<DispatcherWake>) -> usize {
    Arc::as_ptr(wake).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_in_the_order_of_joining_and_those_who_left_are_skipped() {
        let mut turns = Turns::default();
        let [a, b, c] = std::array::from_fn(|_| Arc::<DispatcherWake>::default());
        assert!(turns.is_turn_of(&c));
        for wake in [&a, &b, &a, &c] {
            turns.join(wake);
        }
        assert_eq!(turns.len(), 3);
        assert!(turns.is_turn_of(&a) && !turns.is_turn_of(&b));
        turns.leave(&a);
        turns.leave(&b);
        turns.join(&b);
        assert!(turns.is_turn_of(&c), "b left and came back behind c");
        turns.leave(&c);
        assert!(turns.is_turn_of(&b));
    }

    #[test]
    fn coming_and_going_leaves_nothing_behind() {
        let mut turns = Turns::default();
        let (stays, comes) = (Arc::<DispatcherWake>::default(), Arc::<DispatcherWake>::default());
        turns.join(&stays);
        for _ in 0..10_000 {
            turns.join(&comes);
            turns.leave(&comes);
        }
        assert!(turns.queue.len() < 200, "{} entries", turns.queue.len());
        assert_eq!(turns.len(), 1);
    }
}
