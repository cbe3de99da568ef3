//! Asking for more time before the deadline.

use std::time::Duration;

use crate::deliver::{Delivery, Ticket};
use crate::settle::{Settling, Verdict};

impl Delivery {
    /// The deadline is `extend` from now. A lease that has ended is not revived:
    /// [`crate::Error::LeaseLost`].
    pub fn modack(&self, extend: Duration) -> Settling {
        self.lease().settle(self.core(), Verdict::Modack { extend })
    }
}

impl Ticket {
    /// As [`Delivery::modack`].
    pub fn modack(&self, extend: Duration) -> Settling {
        self.lease.settle(&self.core, Verdict::Modack { extend })
    }
}
