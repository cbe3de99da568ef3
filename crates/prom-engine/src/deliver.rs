//! A delivery: an event leased to one subscriber, to be settled before its deadline.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use prom_store::{Clock, Record, Store};
use prom_types::{GroupName, Offset, TopicName};
use tokio::sync::mpsc;

use crate::dispatch::task::DispatchRequest;
use crate::dispatch::{LeaseId, Leased, SubscriberId};
use crate::event::EventOrigin;
use crate::meters::GroupMeter;
use crate::{Mode, StoredEvent};

/// An event with its lease. It reads like the [`StoredEvent`] it holds; [`Delivery::ack`],
/// [`Delivery::nack`] and [`Delivery::modack`] settle or extend it.
///
/// Its time begins when it is taken from the subscription. Dropping it settles nothing: the lease
/// runs out and counts as a failed attempt.
#[derive(Debug)]
pub struct Delivery {
    event: StoredEvent,
    subscriber: SubscriberId,
    lease: LeaseId,
    attempt: u32,
    redelivered: bool,
    /// On the bus's monotonic clock.
    deadline: Duration,
}

/// The right to settle one delivery, without the event itself. Cloning costs a reference count.
#[derive(Clone)]
pub struct Ticket {
    pub(crate) origin: Arc<EventOrigin>,
    pub(crate) subscriber: SubscriberId,
    pub(crate) offset: Offset,
    pub(crate) lease: LeaseId,
}

/// The way back to the dispatcher that leased an event.
pub(crate) struct Port {
    pub mailbox: mpsc::Sender<DispatchRequest>,
    pub group: GroupName,
    /// Changes with the group.
    pub max_attempts: AtomicU32,
    pub mode: Mode,
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub meter: Arc<GroupMeter>,
    /// The dispatcher panicked, and all its leases are void.
    pub failed: AtomicBool,
}

impl Delivery {
    pub(crate) fn new(origin: Arc<EventOrigin>, record: Record, subscriber: SubscriberId, leased: Leased) -> Self {
        Self {
            event: StoredEvent::new(origin, record),
            subscriber,
            lease: leased.lease,
            attempt: leased.attempt,
            redelivered: leased.redelivered,
            deadline: leased.deadline,
        }
    }

    /// 1 at the first delivery, one more after each failed attempt.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The attempt after which the event goes to the dead letters.
    pub fn max_attempts(&self) -> u32 {
        self.port().map_or(0, |port| port.max_attempts.load(Ordering::Relaxed))
    }

    /// What is left of the lease.
    pub fn ack_deadline(&self) -> Duration {
        self.port().map_or(Duration::ZERO, |port| self.ack_deadline_at(port.clock.monotonic()))
    }

    /// As [`Delivery::ack_deadline`], for a caller that has read the bus's monotonic clock already.
    pub fn ack_deadline_at(&self, now: Duration) -> Duration {
        self.deadline.saturating_sub(now)
    }

    /// The event alone; the lease stays where it is.
    pub fn event(&self) -> &StoredEvent {
        &self.event
    }

    /// For settling it somewhere else.
    pub fn ticket(&self) -> Ticket {
        Ticket {
            origin: self.event.origin.clone(),
            subscriber: self.subscriber,
            offset: self.event.offset(),
            lease: self.lease,
        }
    }

    pub(crate) fn into_ticket(self) -> Ticket {
        let offset = self.event.offset();
        Ticket { origin: self.event.origin, subscriber: self.subscriber, offset, lease: self.lease }
    }

    /// Whether the group had the event before.
    pub(crate) fn is_redelivered(&self) -> bool {
        self.redelivered
    }

    pub(crate) fn meter(&self) -> Option<&GroupMeter> {
        self.port().map(|port| &*port.meter)
    }

    pub(crate) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The same delivery with the event in another form.
    pub(crate) fn with_event(mut self, event: StoredEvent) -> Self {
        self.event = event;
        self
    }

    pub(crate) fn subscriber(&self) -> SubscriberId {
        self.subscriber
    }

    pub(crate) fn leased(&self) -> Leased {
        Leased {
            offset: self.event.offset(),
            lease: self.lease,
            attempt: self.attempt,
            redelivered: self.redelivered,
            deadline: self.deadline,
        }
    }

    /// The lease was renewed when the application took the delivery.
    pub(crate) fn extended_to(&mut self, deadline: Duration) {
        self.deadline = deadline;
    }

    fn port(&self) -> Option<&Port> {
        self.event.origin.port.as_ref()
    }
}

impl Ticket {
    /// The offset of the leased event.
    pub fn offset(&self) -> Offset {
        self.offset
    }

    /// The topic of the event.
    pub fn topic(&self) -> &TopicName {
        &self.origin.log.topic
    }

    /// The partition of the event.
    pub fn partition(&self) -> u32 {
        self.origin.log.partition
    }
}

impl Deref for Delivery {
    type Target = StoredEvent;

    fn deref(&self) -> &StoredEvent {
        &self.event
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ticket({}@{} lease {})", self.origin.log, self.offset, self.lease)
    }
}
