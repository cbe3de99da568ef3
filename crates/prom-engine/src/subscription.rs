//! A running subscription: what the application reads from.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::ack::ack_all;
use crate::deliver::Delivery;
use crate::group::OptionDifference;
use crate::normalize::Normalizing;
use crate::outlet::{Arrivals, AssignmentChange, EventForm, Outlet};
use crate::subscribe::{LiveSubscription, check_max_in_flight};
use crate::{Bus, Error, Gap};

/// Deliveries of a group, for one subscriber. Dropping it gives its leases back.
pub struct Subscription {
    bus: Bus,
    live: Arc<LiveSubscription>,
    differences: Vec<OptionDifference>,
    /// Taken and not given out yet, by [`Subscription::next_item`].
    assignments: VecDeque<AssignmentChange>,
    /// Where events are wanted in the form of the latest schema.
    normalizing: Option<Box<Normalizing>>,
}

/// Pauses, resumes and ends a subscription from somewhere else. Cloning costs a reference count.
#[derive(Clone)]
pub struct SubscriptionControl(Arc<Outlet>);

/// What a subscriber gets to hear.
#[derive(Debug)]
pub enum Item {
    /// An event, leased to this subscriber.
    Delivery(Delivery),
    /// Events that should have come and are gone.
    Gap(Gap),
    /// Partitions came or went; only where the subscriber wanted to be told.
    Assignment(AssignmentChange),
}

impl Subscription {
    pub(crate) fn new(bus: Bus, live: Arc<LiveSubscription>, differences: Vec<OptionDifference>) -> Self {
        let normalizing = match live.outlet.options.form {
            EventForm::Stored => None,
            EventForm::Normalized => Some(Box::new(Normalizing::new(bus.core().clone()))),
        };
        Self { bus, live, differences, assignments: VecDeque::new(), normalizing }
    }

    /// What was asked for and the group has otherwise: its `from`, attempts, backoff and expiry are those of its first
    /// subscriber, or were changed since.
    pub fn differences(&self) -> &[OptionDifference] {
        &self.differences
    }

    /// The next delivery; `None` when the subscription has ended (see [`Subscription::failure`]).
    /// Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<Delivery> {
        loop {
            if let Some(delivery) = self.try_next() {
                return Some(delivery);
            }
            if self.is_over() {
                return None;
            }
            self.arrived().await;
        }
    }

    /// A delivery that is there already.
    pub fn try_next(&mut self) -> Option<Delivery> {
        let now = self.bus.core().clock.monotonic();
        match &mut self.normalizing {
            None => self.live.outlet.take(now),
            Some(normalizing) => normalizing.take(&self.live.outlet, now, 1).pop(),
        }
    }

    /// All that is there, at least one and at most the batch size; empty when the subscription has
    /// ended.
    pub async fn next_batch(&mut self) -> Vec<Delivery> {
        loop {
            let now = self.bus.core().clock.monotonic();
            let outlet = &self.live.outlet;
            let most = outlet.options.batch_size;
            let batch = match &mut self.normalizing {
                None => outlet.take_many(now, most),
                Some(normalizing) => normalizing.take(outlet, now, most),
            };
            if !batch.is_empty() || self.is_over() {
                return batch;
            }
            self.arrived().await;
        }
    }

    /// As [`Subscription::next`], with notices of gaps and of partitions among the deliveries.
    pub async fn next_item(&mut self) -> Option<Item> {
        loop {
            if self.assignments.is_empty() {
                self.assignments.extend(self.outlet().take_assignments());
            }
            if let Some(change) = self.assignments.pop_front() {
                return Some(Item::Assignment(change));
            }
            if let Some(gap) = self.outlet().take_gap() {
                return Some(Item::Gap(gap));
            }
            if let Some(delivery) = self.try_next() {
                return Some(Item::Delivery(delivery));
            }
            if self.is_over() {
                return None;
            }
            self.arrived().await;
        }
    }

    /// Everything that is there: deliveries up to the batch size, gaps, and partitions that came or
    /// went. All are empty when the subscription has ended.
    pub async fn next_arrivals(&mut self) -> Arrivals {
        loop {
            let now = self.bus.core().clock.monotonic();
            let outlet = &self.live.outlet;
            let most = outlet.options.batch_size;
            let arrivals = match &mut self.normalizing {
                None => outlet.take_arrivals(now, most),
                Some(normalizing) => {
                    let told = outlet.take_arrivals(now, 0);
                    Arrivals { deliveries: normalizing.take(outlet, now, most), ..told }
                }
            };
            if !arrivals.is_empty() || self.is_over() {
                return arrivals;
            }
            self.arrived().await;
        }
    }

    /// Gaps that were not taken yet; the newest 256.
    pub fn take_gaps(&mut self) -> Vec<Gap> {
        std::iter::from_fn(|| self.outlet().take_gap()).collect()
    }

    /// Why it ended by itself, if it did.
    pub fn failure(&mut self) -> Option<Error> {
        self.outlet().take_failure()
    }

    /// Settles many deliveries at once; see [`ack_all`].
    pub async fn ack_all(&self, deliveries: Vec<Delivery>) -> Result<(), Error> {
        ack_all(deliveries).await
    }

    /// Nothing more is leased to it until [`Subscription::resume`]; what is leased stays.
    pub async fn pause(&self) {
        self.outlet().pause();
    }

    /// Goes on after a pause.
    pub async fn resume(&self) {
        self.outlet().resume();
    }

    /// For pausing and ending it from somewhere else.
    pub fn control(&self) -> SubscriptionControl {
        SubscriptionControl(self.live.outlet.clone())
    }

    /// Ends it and gives its leases back: they are handed to others at once.
    pub async fn unsubscribe(self) {
        self.outlet().end();
        self.outlet().detached().await;
    }

    /// Something came, or is in the form that was asked for. Nothing is lost if the future is dropped.
    async fn arrived(&mut self) {
        match &mut self.normalizing {
            Some(normalizing) if normalizing.is_busy() => normalizing.done().await,
            _ => self.live.outlet.arrived().await,
        }
    }

    fn is_over(&self) -> bool {
        self.outlet().is_ended()
    }

    pub(crate) fn outlet(&self) -> &Outlet {
        &self.live.outlet
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.outlet().end();
    }
}

impl SubscriptionControl {
    /// Takes nothing new; what was delivered stays leased.
    pub fn pause(&self) {
        self.0.pause();
    }

    /// Goes on after a pause.
    pub fn resume(&self) {
        self.0.resume();
    }

    /// How many events may be leased to it at once from now on. Where that is fewer than before, what is leased stays.
    pub fn set_max_in_flight(&self, events: usize) -> Result<(), Error> {
        check_max_in_flight(events)?;
        self.0.set_max_in_flight(events);
        Ok(())
    }

    /// The subscriber was alive at this time of the bus's monotonic clock; see [`crate::Subscribe::ttl`].
    pub fn heartbeat(&self, heard: Duration) {
        self.0.heartbeat(heard);
    }

    /// Liveness is checked from `now` on; it does not count as silent before the first check after its ttl.
    pub fn watched(&self, now: Duration) {
        self.0.set_watched(now);
    }

    /// No more deliveries come.
    pub fn is_ended(&self) -> bool {
        self.0.is_ended()
    }

    /// How long it may go unheard, if that was said.
    pub fn ttl(&self) -> Option<Duration> {
        self.0.options.ttl
    }

    /// Lets [`Subscription::next`] return `None`, and a handler run to its end.
    pub fn end(&self) {
        self.0.end();
    }
}
