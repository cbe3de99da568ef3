//! Asking for more time before the deadline.

use std::time::Duration;

use crate::deliver::{Delivery, Ticket};
use crate::settle::{SettleVerdict, Settling};

impl Delivery {
    /// The deadline is `extend` from now. A lease that has ended is not revived:
    /// [`crate::Error::LeaseLost`].
    pub fn modack(&self, extend: Duration) -> Settling {
        self.lease().settle(self.core(), SettleVerdict::Modack { extend })
    }
}

impl Ticket {
    /// As [`Delivery::modack`].
    pub fn modack(&self, extend: Duration) -> Settling {
        self.lease.settle(&self.core, SettleVerdict::Modack { extend })
    }
}
