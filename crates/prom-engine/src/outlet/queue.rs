//! The queue of an outlet: deliveries in their order, how many bytes they take, how many more fit.
//!
//! How large events are is known only after they were leased. So room is given for as many as fit if
//! they are like the last ones, and the first ones are taken for the largest possible. What the last
//! ones did not tell, and what several dispatchers were given at the same moment, comes on top of
//! [`QUEUE_BYTES`]; then no dispatcher gets room until enough was taken.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use prom_types::Offset;
use prom_types::limits::PAYLOAD_BYTES;

use crate::deliver::{Delivery, Ticket};
use crate::event::EventOrigin;
use crate::held_bytes::{DeliveryMemory, HeldBytes};
use crate::limits::QUEUE_BYTES;

pub(super) struct DeliveryQueue {
    deliveries: VecDeque<Delivery>,
    bytes: usize,
    held: HeldBytes,
    /// What an event takes, judging by the last ones.
    usual_bytes: usize,
    /// Nothing in the queue is overdue before this; saves looking through it.
    none_overdue_before: Duration,
}

impl DeliveryQueue {
    pub fn new(memory: &Arc<DeliveryMemory>) -> Self {
        Self {
            deliveries: VecDeque::new(),
            bytes: 0,
            held: HeldBytes::new(memory),
            usual_bytes: PAYLOAD_BYTES,
            none_overdue_before: Duration::ZERO,
        }
    }

    pub fn len(&self) -> usize {
        self.deliveries.len()
    }

    pub fn push(&mut self, batch: impl IntoIterator<Item = Delivery>) {
        if self.deliveries.is_empty() {
            self.none_overdue_before = Duration::MAX;
        }
        let (events_before, bytes_before) = (self.deliveries.len(), self.bytes);
        for delivery in batch {
            self.none_overdue_before = self.none_overdue_before.min(delivery.deadline());
            self.bytes += delivery.record().len();
            self.deliveries.push_back(delivery);
        }
        self.learn_usual_bytes(self.deliveries.len() - events_before, self.bytes - bytes_before);
        self.tell_bytes();
    }

    /// After one or many [`DeliveryQueue::pop`].
    pub fn tell_bytes(&mut self) {
        self.held.tell(self.bytes);
    }

    pub fn pop(&mut self) -> Option<Delivery> {
        let delivery = self.deliveries.pop_front()?;
        self.bytes -= delivery.record().len();
        Some(delivery)
    }

    /// Everything, when the application takes nothing any more.
    pub fn clear(&mut self) -> impl Iterator<Item = Ticket> + use<> {
        self.bytes = 0;
        self.tell_bytes();
        std::mem::take(&mut self.deliveries).into_iter().map(|delivery| delivery.ticket())
    }

    /// Everything of this origin if something of it is overdue, else nothing.
    pub fn take_overdue(&mut self, now: Duration, origin: &Arc<EventOrigin>) -> Vec<Ticket> {
        if now < self.none_overdue_before {
            return Vec::new();
        }
        let is_overdue = |delivery: &Delivery| Arc::ptr_eq(&delivery.origin, origin) && delivery.deadline() <= now;
        let overdue = if self.deliveries.iter().any(is_overdue) { self.take_all_of(origin) } else { Vec::new() };
        let first = self.deliveries.iter().map(Delivery::deadline).min();
        self.none_overdue_before = first.unwrap_or(Duration::MAX);
        overdue
    }

    pub fn take_all_of(&mut self, origin: &Arc<EventOrigin>) -> Vec<Ticket> {
        self.take_where(|delivery| Arc::ptr_eq(&delivery.origin, origin))
    }

    pub fn take_within(&mut self, origin: &Arc<EventOrigin>, offsets: &Range<Offset>) -> Vec<Ticket> {
        self.take_where(|delivery| {
            Arc::ptr_eq(&delivery.origin, origin) && offsets.contains(&delivery.record().offset())
        })
    }

    pub fn take_where(&mut self, is_wanted: impl Fn(&Delivery) -> bool) -> Vec<Ticket> {
        let mut taken = Vec::new();
        let bytes = &mut self.bytes;
        self.deliveries.retain(|delivery| {
            let is_theirs = is_wanted(delivery);
            if is_theirs {
                taken.push(delivery.ticket());
                *bytes -= delivery.record().len();
            }
            !is_theirs
        });
        self.tell_bytes();
        taken
    }

    /// Whether another event of the usual size fits; an empty queue takes one of any size.
    pub fn fits_one(&self) -> bool {
        self.deliveries.is_empty() || self.bytes + self.usual_bytes <= self.held.limit(QUEUE_BYTES)
    }

    /// How many events of the usual size fit where one does.
    pub fn fitting(&self) -> usize {
        (self.held.limit(QUEUE_BYTES).saturating_sub(self.bytes) / self.usual_bytes.max(1)).max(1)
    }

    /// Larger events are believed at once, smaller ones within a few batches.
    fn learn_usual_bytes(&mut self, events: usize, bytes: usize) {
        if let Some(mean) = bytes.checked_div(events) {
            self.usual_bytes = mean.max(self.usual_bytes / 8);
        }
    }

    /// As if the last events had had no size: then only the window counts.
    #[cfg(test)]
    pub fn expect_no_bytes(&mut self) {
        self.usual_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_events_are_believed_at_once_and_smaller_ones_soon() {
        let mut queue = DeliveryQueue::new(&Arc::default());
        assert_eq!(queue.fitting(), 8);
        let batches = [(8, 800, 1 << 17), (8, 800, 1 << 14), (1, 1 << 18, 1 << 18), (0, 0, 1 << 18)];
        for (events, bytes, usual_bytes) in batches {
            queue.learn_usual_bytes(events, bytes);
            assert_eq!(queue.usual_bytes, usual_bytes);
        }
        assert_eq!(queue.fitting(), 32);
    }

    #[test]
    fn an_empty_queue_takes_one_event_of_any_size() {
        let queue = DeliveryQueue { usual_bytes: 2 * QUEUE_BYTES, ..DeliveryQueue::new(&Arc::default()) };
        assert!(queue.fits_one());
        assert_eq!(queue.fitting(), 1);
    }
}
