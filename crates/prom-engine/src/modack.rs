//! Asking for more time before the deadline.

use std::time::Duration;

use smallvec::smallvec;

use crate::Error;
use crate::ack::settle;
use crate::deliver::{Delivery, Ticket};
use crate::dispatch::task::Request;
use crate::limits::LONGEST_ACK_TIMEOUT;

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
        settle(self.origin.clone(), smallvec![self.offset], move |reply| Request::Modack {
            subscriber: ticket.subscriber,
            leases: smallvec![(ticket.offset, ticket.lease)],
            extend: extend.min(LONGEST_ACK_TIMEOUT),
            reply: Some(reply),
        })
    }
}
