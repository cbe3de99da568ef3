//! Asking for more time before the deadline.

use std::time::Duration;

use futures::future::join_all;
use smallvec::smallvec;

use crate::Error;
use crate::ack::{DispatcherTickets, by_dispatcher, settle};
use crate::deliver::{Delivery, Ticket};
use crate::dispatch::task::DispatchRequest;
use crate::limits::LONGEST_ACK_TIMEOUT;

/// More time for many deliveries, with one message per partition. The first error is returned;
/// whatever it does not name has the time.
pub fn modack_tickets(
    tickets: Vec<Ticket>,
    extend: Duration,
) -> impl Future<Output = Result<(), Error>> + Send + use<> {
    let extend = extend.min(LONGEST_ACK_TIMEOUT);
    let sent: Vec<_> = by_dispatcher(&tickets)
        .into_iter()
        .map(|DispatcherTickets { origin, subscriber, leases }| {
            let offsets = leases.iter().map(|(offset, _)| *offset).collect();
            settle(origin, offsets, move |reply| DispatchRequest::Modack {
                subscriber,
                leases,
                extend,
                reply: Some(reply),
            })
        })
        .collect();
    async move { join_all(sent).await.into_iter().collect() }
}

impl Delivery {
    /// The deadline is `extend` from now. A lease that has ended is not revived:
    /// [`Error::NotLeased`].
    pub fn modack(&self, extend: Duration) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.ticket().modack(extend)
    }
}

impl Ticket {
    /// As [`Delivery::modack`].
    pub fn modack(&self, extend: Duration) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let ticket = self.clone();
        settle(self.origin.clone(), smallvec![self.offset], move |reply| DispatchRequest::Modack {
            subscriber: ticket.subscriber,
            leases: smallvec![(ticket.offset, ticket.lease)],
            extend: extend.min(LONGEST_ACK_TIMEOUT),
            reply: Some(reply),
        })
    }
}
