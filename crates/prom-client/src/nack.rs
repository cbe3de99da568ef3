//! Giving an event back as failed: it counts as an attempt and comes again after a wait.

use std::time::Duration;

use prom_protocol::limits::REASON_BYTES;

use crate::deliver::{Delivery, Ticket};
use crate::settle::{SettleVerdict, Settling};

impl Delivery {
    /// Failed, for this reason; comes again after the group's backoff. At the limit of attempts it
    /// goes to the dead letters with the reason.
    pub fn nack(&self, reason: &str) -> Settling {
        self.lease().settle(self.core(), verdict(reason, None))
    }

    /// As [`Delivery::nack`], but comes again after `delay`.
    pub fn nack_after(&self, reason: &str, delay: Duration) -> Settling {
        self.lease().settle(self.core(), verdict(reason, Some(delay)))
    }
}

impl Ticket {
    /// As [`Delivery::nack`].
    pub fn nack(&self, reason: &str) -> Settling {
        self.lease.settle(&self.core, verdict(reason, None))
    }

    /// As [`Delivery::nack_after`].
    pub fn nack_after(&self, reason: &str, delay: Duration) -> Settling {
        self.lease.settle(&self.core, verdict(reason, Some(delay)))
    }
}

/// A longer reason than the hub takes is cut.
pub(crate) fn verdict(reason: &str, delay: Option<Duration>) -> SettleVerdict {
    let fits = reason.floor_char_boundary(REASON_BYTES);
    SettleVerdict::Nack { reason: reason[..fits].to_owned(), delay }
}
