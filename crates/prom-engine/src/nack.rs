//! Giving an event back as failed: it counts as an attempt and comes again after a wait.

use std::time::Duration;

use smallvec::smallvec;

use crate::Error;
use crate::ack::settle;
use crate::deliver::{Delivery, Ticket};
use crate::dispatch::task::DispatchRequest;

impl Delivery {
    /// Failed, for this reason; comes again after the group's backoff. At the limit of attempts it
    /// goes to the dead letters with the reason.
    pub fn nack(&self, reason: &str) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.ticket().nack_with(reason.to_owned(), None)
    }

    /// As [`Delivery::nack`], but comes again after `delay`.
    pub fn nack_after(&self, reason: &str, delay: Duration) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.ticket().nack_with(reason.to_owned(), Some(delay))
    }
}

impl Ticket {
    /// As [`Delivery::nack`].
    pub fn nack(&self, reason: &str) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.nack_with(reason.to_owned(), None)
    }

    /// As [`Delivery::nack_after`].
    pub fn nack_after(&self, reason: &str, delay: Duration) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.nack_with(reason.to_owned(), Some(delay))
    }

    fn nack_with(
        &self,
        reason: String,
        delay: Option<Duration>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let ticket = self.clone();
        settle(self.origin.clone(), smallvec![self.offset], move |reply| DispatchRequest::Nack {
            subscriber: ticket.subscriber,
            offset: ticket.offset,
            lease: ticket.lease,
            reason: (!reason.is_empty()).then_some(reason),
            delay,
            reply: Some(reply),
        })
    }
}
