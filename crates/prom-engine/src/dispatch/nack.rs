//! Giving up on an event for now: a failed attempt.

use std::time::Duration;

use prom_types::Offset;

use super::{Dispatcher, LeaseId, NotLeased, Settled, SubscriberId};

impl Dispatcher {
    /// The holder could not deal with the event. It comes again after `delay`; without one, after a
    /// backoff that grows with every failure, so that a handler which always fails does not use up
    /// its attempts in milliseconds.
    pub fn nack(
        &mut self,
        now: Duration,
        subscriber: SubscriberId,
        offset: Offset,
        lease: LeaseId,
        reason: Option<String>,
        delay: Option<Duration>,
    ) -> Result<Settled, NotLeased> {
        let Some(event) = self.unsettled.take_leased(offset, subscriber, lease) else {
            return self.not_leased(offset);
        };
        self.subscribers.release(subscriber);
        if self.is_void(offset) {
            return Ok(Settled::AlreadySettled);
        }
        self.fail(now, offset, event, reason, delay);
        Ok(Settled::Now)
    }
}
