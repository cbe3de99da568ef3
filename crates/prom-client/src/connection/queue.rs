//! Publishes that wait to leave, in the order in which they were handed over.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::pacer::Pacer;
use crate::limits::BATCH_FRAME_EVENTS;
use crate::pending::Pending;
use crate::room::frame_bytes;

pub(super) struct PublishQueue {
    waiting: VecDeque<Pending>,
    next_number: u64,
    pub pacer: Pacer,
    /// Nothing is to be given up before this.
    look_at: Option<Instant>,
}

/// What goes into one frame.
pub(super) enum Load {
    One(Pending),
    /// At least two, each standing for itself.
    Several(Vec<Pending>),
}

/// What a frame may carry.
#[derive(Clone, Copy)]
pub(super) struct LoadLimit {
    pub events: usize,
    pub bytes: usize,
}

impl PublishQueue {
    pub fn new() -> Self {
        Self { waiting: VecDeque::new(), next_number: 0, pacer: Pacer::new(), look_at: None }
    }

    pub fn add(&mut self, handed_over: &mut Vec<Pending>) {
        for mut pending in handed_over.drain(..) {
            self.next_number += 1;
            pending.number = self.next_number;
            self.look_by(pending.deadline);
            self.waiting.push_back(pending);
        }
    }

    /// They leave again before whatever was handed over after them.
    pub fn put_back(&mut self, mut again: Vec<Pending>) {
        again.retain(|pending| !pending.is_over());
        again.iter().for_each(|pending| self.look_by(pending.deadline));
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

    pub fn take(&mut self, limit: LoadLimit) -> Option<Load> {
        let first = self.waiting.pop_front()?;
        if first.is_atomic() {
            return Some(Load::One(first));
        }
        let mut bytes: usize = first.events().iter().map(frame_bytes).sum();
        let mut load = vec![first];
        while load.len() < limit.events.min(BATCH_FRAME_EVENTS) {
            let Some(next) = self.waiting.front().filter(|next| !next.is_atomic()) else {
                break;
            };
            bytes += next.events().iter().map(frame_bytes).sum::<usize>();
            if bytes > limit.bytes {
                break;
            }
            load.extend(self.waiting.pop_front());
        }
        match load.len() {
            1 => load.pop().map(Load::One),
            _ => Some(Load::Several(load)),
        }
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
            let over = pending.deadline <= now;
            if over {
                pending.give_up(after, reason);
            }
            !over
        });
        let waiting = self.waiting.iter().map(|pending| pending.deadline).min();
        self.look_at = [waiting, under_way].into_iter().flatten().min();
    }

    pub fn drain(&mut self) -> impl Iterator<Item = Pending> {
        self.waiting.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use prom_types::{NewEvent, TopicName};
    use serde_json::json;
    use tokio::sync::oneshot;

    use super::*;
    use crate::pending::What;

    fn one(payload: u32) -> Pending {
        let event = NewEvent::new(TopicName::parse("a").unwrap(), json!(payload));
        let (reply, answer) = oneshot::channel();
        std::mem::forget(answer);
        Pending::new(
            What::One { event: Box::new(event), reply: Some(reply) },
            Instant::now() + Duration::from_secs(9),
            None,
        )
    }

    fn many() -> Pending {
        let event = NewEvent::new(TopicName::parse("a").unwrap(), json!("batch"));
        let (reply, answer) = oneshot::channel();
        std::mem::forget(answer);
        let what = What::Many { events: vec![event.clone(), event], reply: Some(reply) };
        Pending::new(what, Instant::now() + Duration::from_secs(9), None)
    }

    fn payloads(load: Option<Load>) -> Vec<String> {
        let list = match load {
            None => Vec::new(),
            Some(Load::One(pending)) => vec![pending],
            Some(Load::Several(list)) => list,
        };
        list.iter().map(|pending| pending.events()[0].payload.to_string()).collect()
    }

    const ALL: LoadLimit = LoadLimit { events: 1000, bytes: 1 << 20 };

    #[test]
    fn events_that_wait_leave_together_and_batches_alone_in_order() {
        let mut queue = PublishQueue::new();
        queue.add(&mut vec![one(1), one(2), many(), one(3)]);
        assert_eq!(payloads(queue.take(ALL)), ["1", "2"]);
        assert_eq!(payloads(queue.take(ALL)), ["\"batch\""]);
        assert_eq!(payloads(queue.take(ALL)), ["3"]);
        assert!(queue.take(ALL).is_none());
    }

    #[test]
    fn a_frame_holds_no_more_than_its_limits() {
        let mut queue = PublishQueue::new();
        queue.add(&mut (0..10).map(one).collect());
        assert_eq!(payloads(queue.take(LoadLimit { events: 3, ..ALL })).len(), 3);
        assert_eq!(payloads(queue.take(LoadLimit { bytes: 450, ..ALL })).len(), 2);
        assert_eq!(payloads(queue.take(LoadLimit { bytes: 1, ..ALL })).len(), 1, "one goes in any case");
    }

    #[test]
    fn what_comes_back_leaves_again_in_its_old_order() {
        let mut queue = PublishQueue::new();
        queue.add(&mut (0..6).map(one).collect());
        let take = |queue: &mut PublishQueue| match queue.take(LoadLimit { events: 2, ..ALL }) {
            Some(Load::Several(list)) => list,
            _ => panic!("two were expected"),
        };
        let (first, second) = (take(&mut queue), take(&mut queue));
        queue.put_back(first);
        queue.put_back(second);
        assert_eq!(payloads(queue.take(ALL)), ["0", "1", "2", "3", "4", "5"]);
    }
}
