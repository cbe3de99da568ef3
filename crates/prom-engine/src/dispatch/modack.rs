//! Asking for more time.

use std::time::Duration;

use prom_types::Offset;

use super::{Dispatcher, LeaseId, NotLeased, SubscriberId};

impl Dispatcher {
    /// Puts the deadline of a live lease at `now + extend`. A lease whose deadline has come is not
    /// revived, whether or not [`Self::tick`] has seen it.
    pub fn modack(
        &mut self,
        now: Duration,
        subscriber: SubscriberId,
        offset: Offset,
        lease: LeaseId,
        extend: Duration,
    ) -> Result<(), NotLeased> {
        let held = self.unsettled.lease(offset).ok_or(NotLeased)?;
        if held.id != lease || held.subscriber != subscriber || held.deadline <= now {
            return Err(NotLeased);
        }
        self.unsettled.extend(offset, now.saturating_add(extend));
        self.unsettled.count_renewal(offset);
        Ok(())
    }
}
