//! A delivery: an event leased to this client, which settles it before the deadline.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::StoredEvent;
use crate::core::ClientCore;
use crate::feed::Received;
use crate::settle::DeliveryLease;

/// An event with its lease. It reads like the [`StoredEvent`] it holds; [`Delivery::ack`],
/// [`Delivery::nack`] and [`Delivery::modack`] settle or extend it.
///
/// Dropping it settles nothing: the lease runs out and counts as a failed attempt. When the
/// connection ends, so do the leases it brought: the hub hands their events out again.
pub struct Delivery {
    core: Arc<ClientCore>,
    lease: DeliveryLease,
    event: StoredEvent,
    attempt: u32,
    max_attempts: u32,
    deadline: Instant,
}

/// The right to settle one delivery, without the event itself.
#[derive(Clone)]
pub struct Ticket {
    pub(crate) core: Arc<ClientCore>,
    pub(crate) lease: DeliveryLease,
}

impl Delivery {
    pub(crate) fn new(core: Arc<ClientCore>, received: Received, lease: DeliveryLease) -> Self {
        let Received { event, attempt, max_attempts, deadline, .. } = received;
        Self { core, lease, event, attempt, max_attempts, deadline }
    }

    /// 1 at the first delivery, one more after each failed attempt.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The attempt after which the event goes to the dead letters.
    pub fn max_attempts(&self) -> u32 {
        self.max_attempts
    }

    /// What was left of the lease, as far as this side knows; a renewal since it was taken is not counted.
    pub fn ack_deadline(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The event alone; the lease stays where it is.
    pub fn event(&self) -> &StoredEvent {
        &self.event
    }

    /// For settling it somewhere else.
    pub fn ticket(&self) -> Ticket {
        Ticket { core: self.core.clone(), lease: self.lease.clone() }
    }

    pub(crate) fn lease(&self) -> &DeliveryLease {
        &self.lease
    }

    pub(crate) fn core(&self) -> &ClientCore {
        &self.core
    }
}

impl Deref for Delivery {
    type Target = StoredEvent;

    fn deref(&self) -> &StoredEvent {
        &self.event
    }
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} attempt {} of {}", self.event, self.attempt, self.max_attempts)
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ticket({}/{}@{})", self.lease.topic, self.lease.partition, self.lease.offset)
    }
}
