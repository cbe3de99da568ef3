//! Settling an event for good.

use prom_types::Offset;

use super::{Dispatcher, LeaseId, SubscriberId};

/// What an ack or a nack found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It ended the lease.
    Now,
    /// The event was settled before; nothing to do.
    AlreadySettled,
}

/// The event is not leased to this subscriber under this lease: it expired, was given back, was
/// fenced by a reset, or never was theirs. It will be handed out again; drop what was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the event is not leased to this subscriber (any more)")]
pub struct NotLeased;

impl Dispatcher {
    /// The holder is done with the event. An ack that comes after the deadline, but before
    /// [`Self::tick`] ended the lease, is as good as one in time: no other subscriber has the event.
    pub fn ack(&mut self, subscriber: SubscriberId, offset: Offset, lease: LeaseId) -> Result<Settled, NotLeased> {
        let Some(event) = self.unsettled.take_leased(offset, subscriber, lease) else {
            return self.not_leased(offset);
        };
        self.subscribers.release(subscriber);
        if self.is_given(offset) {
            self.given_is_acked(offset, event);
            return Ok(Settled::Now);
        }
        if offset < self.progress.floor() {
            return Ok(Settled::AlreadySettled);
        }
        self.settle_event(offset, event.key, event.lane);
        Ok(Settled::Now)
    }

    /// The answer to a subscriber that settles what it does not hold.
    pub(super) fn not_leased(&self, offset: Offset) -> Result<Settled, NotLeased> {
        if self.progress.is_settled(offset) && !self.is_given(offset) {
            Ok(Settled::AlreadySettled)
        } else {
            Err(NotLeased)
        }
    }
}
