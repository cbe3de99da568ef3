//! Settling an event: it will not be delivered again.

use crate::deliver::{Delivery, Ticket};
use crate::settle::{SettleVerdict, Settling};

impl Delivery {
    /// Done. The answer means: as durable as a publish. Sent at once; acks that gather leave together.
    pub fn ack(&self) -> Settling {
        self.lease().settle(self.core(), SettleVerdict::Ack)
    }
}

impl Ticket {
    /// As [`Delivery::ack`].
    pub fn ack(&self) -> Settling {
        self.lease.settle(&self.core, SettleVerdict::Ack)
    }
}
