//! Giving an event back: as failed, which counts as an attempt and makes it come again after a wait, or as not begun.

use std::time::Duration;

use futures::future::join_all;
use smallvec::smallvec;

use crate::Error;
use crate::ack::{DispatcherTickets, by_dispatcher, settle};
use crate::deliver::{Delivery, Ticket};
use crate::dispatch::task::DispatchRequest;

/// Gives deliveries back that no handler has begun, with one message per partition: no attempt is counted, and the
/// group hands them out again at once. A lease that has ended is left alone.
pub fn give_back_tickets(tickets: &[Ticket]) -> impl Future<Output = Result<(), Error>> + Send + use<> {
    let sent: Vec<_> = by_dispatcher(tickets)
        .into_iter()
        .map(|DispatcherTickets { origin, subscriber, leases }| {
            let offsets = leases.iter().map(|(offset, _)| *offset).collect();
            settle(origin, offsets, move |reply| DispatchRequest::GiveBack { subscriber, leases, reply })
        })
        .collect();
    async move { join_all(sent).await.into_iter().collect() }
}

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
