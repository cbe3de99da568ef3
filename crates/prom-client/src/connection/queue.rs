//! Publishes that wait to leave, in the order in which they were handed over.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::pacer::PublishPacer;
use crate::limits::BATCH_FRAME_EVENTS;
use crate::pending::Pending;

pub(super) struct PublishQueue {
    waiting: VecDeque<Pending>,
    next_number: u64,
    pub pacer: PublishPacer,
    /// No deadline is before this.
    look_at: Option<Instant>,
}

/// What a frame may carry.
#[derive(Clone, Copy)]
pub(super) struct LoadLimit {
    pub events: usize,
    pub bytes: usize,
}

impl PublishQueue {
    pub fn new() -> Self {
        Self { waiting: VecDeque::new(), next_number: 0, pacer: PublishPacer::new(), look_at: None }
    }

    /// What was handed over just now has until `deadline`.
    pub fn add(&mut self, handed_over: &mut Vec<Pending>, deadline: Instant) {
        for mut pending in handed_over.drain(..) {
            pending.number = self.next_number;
            self.next_number += pending.len() as u64;
            let deadline = *pending.deadline.get_or_insert(deadline);
            self.look_by(deadline);
            self.waiting.push_back(pending);
        }
    }

    /// They leave again before whatever was handed over after them.
    pub fn put_back(&mut self, mut again: Vec<Pending>) {
        again.retain(|pending| !pending.is_over());
        again.iter().filter_map(|pending| pending.deadline).for_each(|deadline| self.look_by(deadline));
        again.sort_unstable_by_key(|pending| pending.number);
        let (Some(last), first_waiting) = (again.last(), self.waiting.front()) else {
            return;
        };
        let all_before = first_waiting.is_none_or(|first| last.number < first.number);
        again.into_iter().rev().for_each(|pending| self.waiting.push_front(pending));
        if !all_before {
            self.waiting.make_contiguous().sort_by_key(|pending| pending.number);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What goes into the next frame: a batch alone, or as many others as fit. Nothing if there is nothing.
    pub fn take(&mut self, limit: LoadLimit) -> Vec<Pending> {
        let Some(mut first) = self.waiting.pop_front() else {
            return Vec::new();
        };
        if first.is_atomic() {
            return vec![first];
        }
        let fitting = first.fitting(limit.events, limit.bytes);
        if fitting < first.len() {
            let rest = first.split_off(fitting);
            self.waiting.push_front(rest);
            return vec![first];
        }
        let (mut events, mut bytes) = (first.len(), first.text().len());
        let mut load = vec![first];
        while let Some(next) = self.waiting.pop_front_if(|next| {
            events += next.len();
            bytes += 1 + next.text().len();
            !next.is_atomic() && events <= limit.events.min(BATCH_FRAME_EVENTS) && bytes <= limit.bytes
        }) {
            load.push(next);
        }
        load
    }

    /// When something may have to be given up.
    pub fn look_at(&self) -> Option<Instant> {
        self.look_at
    }

    /// A publish elsewhere has this deadline.
    pub fn look_by(&mut self, deadline: Instant) {
        self.look_at = Some(self.look_at.map_or(deadline, |look_at| look_at.min(deadline)));
    }

    /// Gives up what waited for too long. The caller does the same for what is under way, before, and tells the
    /// earliest deadline that is left there.
    pub fn expire(&mut self, now: Instant, after: Duration, reason: &str, under_way: Option<Instant>) {
        self.waiting.retain_mut(|pending| {
            let over = pending.deadline.is_some_and(|deadline| deadline <= now);
            if over {
                pending.give_up(after, reason);
            }
            !over
        });
        let waiting = self.waiting.iter().filter_map(|pending| pending.deadline).min();
        self.look_at = [waiting, under_way].into_iter().flatten().min();
    }

    pub fn drain(&mut self) -> impl Iterator<Item = Pending> {
        self.waiting.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::oneshot;

    use super::*;
    use crate::pending::tests::{event, payloads, pending};
    use crate::room::{Room, RoomShare};

    fn queue_of(loads: Vec<Pending>) -> PublishQueue {
        let mut queue = PublishQueue::new();
        queue.add(&mut loads.into_iter().collect(), Instant::now() + Duration::from_secs(9));
        queue
    }

    fn some(range: std::ops::Range<u32>) -> Pending {
        pending(range, &Arc::new(Room::new(1000, 1 << 20))).0
    }

    fn batch(values: [u32; 2]) -> Pending {
        let (reply, _receiver) = oneshot::channel();
        let events = values.map(|value| event(value.into())).to_vec();
        Pending::batch(events, RoomShare::nothing(&Arc::new(Room::new(1000, 1 << 20))), reply, None)
    }

    fn taken(queue: &mut PublishQueue, limit: LoadLimit) -> Vec<u64> {
        queue.take(limit).iter().flat_map(payloads).collect()
    }

    const ALL: LoadLimit = LoadLimit { events: 1000, bytes: 1 << 20 };

    #[test]
    fn events_that_wait_leave_together_and_batches_alone_in_order() {
        let mut queue = queue_of(vec![some(1..3), some(5..6), batch([8, 9]), some(3..4)]);
        assert_eq!(taken(&mut queue, ALL), [1, 2, 5]);
        assert_eq!(taken(&mut queue, LoadLimit { events: 1, ..ALL }), [8, 9], "never cut");
        assert_eq!(taken(&mut queue, ALL), [3]);
        assert!(queue.take(ALL).is_empty());
    }

    #[test]
    fn a_frame_holds_no_more_than_its_limits() {
        let mut queue = queue_of(vec![some(0..10)]);
        assert_eq!(taken(&mut queue, LoadLimit { events: 3, ..ALL }).len(), 3);
        assert_eq!(taken(&mut queue, LoadLimit { bytes: 200, ..ALL }).len(), 2);
        assert_eq!(taken(&mut queue, LoadLimit { bytes: 1, ..ALL }).len(), 1, "one goes in any case");
        assert_eq!(taken(&mut queue, ALL), [6, 7, 8, 9]);
        let mut queue = queue_of((0..10).map(|one| some(one..one + 1)).collect());
        assert_eq!(taken(&mut queue, LoadLimit { events: 3, ..ALL }).len(), 3);
        assert_eq!(taken(&mut queue, LoadLimit { bytes: 200, ..ALL }).len(), 2);
    }

    #[test]
    fn what_comes_back_leaves_again_in_its_old_order() {
        let mut queue = queue_of(vec![some(0..4), some(4..6)]);
        let two = LoadLimit { events: 2, ..ALL };
        let (first, second) = (queue.take(two), queue.take(two));
        queue.put_back(first);
        queue.put_back(second);
        assert_eq!(taken(&mut queue, ALL), [0, 1, 2, 3, 4, 5]);
    }
}
