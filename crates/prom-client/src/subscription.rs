//! A running subscription: what the application reads from.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::assignment::AssignmentChange;
use crate::batch::Batch;
use crate::client::ended;
use crate::core::ClientCore;
use crate::deliver::Delivery;
use crate::feed::{Feed, Received};
use crate::mailbox::{ClientCommand, Pausing};
use crate::settle::DeliveryLease;
use crate::{Client, Error, Gap};

/// Deliveries of a group, for one subscriber. Dropping it gives its leases back.
pub struct Subscription {
    client: Client,
    feed: Arc<Feed>,
}

/// Pauses, resumes and ends a subscription from somewhere else. Cloning costs a reference count.
#[derive(Clone)]
pub struct SubscriptionControl {
    core: Arc<ClientCore>,
    feed: Arc<Feed>,
}

/// What a subscriber gets to hear.
#[derive(Debug)]
pub enum Item {
    /// An event with its lease.
    Delivery(Delivery),
    /// Events that should have come and are gone.
    Gap(Gap),
    /// Partitions came or went; only where the subscriber wanted to be told.
    Assignment(AssignmentChange),
    /// The connection was lost and the subscription re-created: what was delivered before is no longer
    /// leased, and comes again unless it was settled.
    Resubscribed,
}

impl Subscription {
    pub(crate) fn new(client: Client, feed: Arc<Feed>) -> Self {
        Self { client, feed }
    }

    /// The next delivery; `None` when the subscription has ended (see [`Subscription::failure`]).
    /// Nothing is lost if the future is dropped.
    ///
    /// One caller at a time waits for it, so none takes what another one should settle:
    ///
    /// ```compile_fail,E0499
    /// # async fn example(mut orders: prom_client::Subscription) {
    /// let (one, other) = (orders.next(), orders.next());
    /// tokio::join!(one, other);
    /// # }
    /// ```
    pub async fn next(&mut self) -> Option<Delivery> {
        loop {
            if let Some(delivery) = self.try_next() {
                return Some(delivery);
            }
            if self.feed.is_ended() {
                return None;
            }
            self.feed.arrived().await;
        }
    }

    /// A delivery that is there already.
    pub fn try_next(&mut self) -> Option<Delivery> {
        let received = self.take()?;
        let lease = lease_of(&self.feed, &received);
        Some(Delivery::new(self.client.core().clone(), received, lease))
    }

    /// All deliveries that are there, up to `most`: waits for the first and for no other. Settling them together
    /// costs little more than settling one. `None` when the subscription has ended. Nothing is lost if the future
    /// is dropped.
    pub async fn next_batch(&mut self, most: usize) -> Option<Batch> {
        loop {
            let (received, after) = self.feed.take_many(most.max(1));
            after.follow(self.client.core(), &self.feed);
            if !received.is_empty() {
                return Some(Batch::new(self.client.core().clone(), self.feed.clone(), received));
            }
            // What was there may all have run out.
            if self.feed.is_ended() {
                return None;
            }
            if !self.feed.has_some() {
                self.feed.arrived().await;
            }
        }
    }

    /// As [`Subscription::next`], with notices of gaps and lost connections among the deliveries.
    pub async fn next_item(&mut self) -> Option<Item> {
        loop {
            if self.feed.take_resubscribed() {
                return Some(Item::Resubscribed);
            }
            if let Some(change) = self.feed.take_assignment() {
                return Some(Item::Assignment(change));
            }
            if let Some(gap) = self.feed.take_gap() {
                return Some(Item::Gap(gap));
            }
            if let Some(delivery) = self.try_next() {
                return Some(Item::Delivery(delivery));
            }
            if self.feed.is_ended() {
                return None;
            }
            self.feed.arrived().await;
        }
    }

    /// Gaps that were not taken yet; the newest 256.
    pub fn take_gaps(&mut self) -> Vec<Gap> {
        std::iter::from_fn(|| self.feed.take_gap()).collect()
    }

    /// Why it ended by itself, if it did.
    pub fn failure(&mut self) -> Option<Error> {
        self.feed.take_failure()
    }

    /// Nothing more is leased to it until [`Subscription::resume`]; what is leased stays.
    pub async fn pause(&self) -> Result<(), Error> {
        self.control().pause().await
    }

    /// Leases events to it again.
    pub async fn resume(&self) -> Result<(), Error> {
        self.control().resume().await
    }

    /// For pausing and ending it from somewhere else.
    pub fn control(&self) -> SubscriptionControl {
        SubscriptionControl { core: self.client.core().clone(), feed: self.feed.clone() }
    }

    /// Ends it and gives its leases back: they are handed to others at once.
    pub async fn unsubscribe(self) -> Result<(), Error> {
        self.control().end().await
    }

    pub(crate) fn take(&mut self) -> Option<Received> {
        let (received, after) = self.feed.take();
        after.follow(self.client.core(), &self.feed);
        received
    }

    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.feed.end(None);
        // Handlers that ran on it are gone with it.
        self.feed.interrupt();
        let command =
            ClientCommand::Unsubscribe { name: self.feed.name.clone(), number: Some(self.feed.number), reply: None };
        let _closed_before = self.client.core().mailbox.command(command);
    }
}

impl SubscriptionControl {
    pub(crate) fn new(core: Arc<ClientCore>, feed: Arc<Feed>) -> Self {
        Self { core, feed }
    }

    /// As [`Subscription::pause`].
    pub async fn pause(&self) -> Result<(), Error> {
        self.switch(Pausing::Pause).await
    }

    /// As [`Subscription::resume`].
    pub async fn resume(&self) -> Result<(), Error> {
        self.switch(Pausing::Resume).await
    }

    /// Lets [`Subscription::next`] return `None`, and a handler run to its end.
    pub async fn end(&self) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        let (name, number) = (self.feed.name.clone(), Some(self.feed.number));
        self.core.mailbox.command(ClientCommand::Unsubscribe { name, number, reply: Some(reply) })?;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }

    async fn switch(&self, pausing: Pausing) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        let (name, number) = (self.feed.name.clone(), self.feed.number);
        self.core.mailbox.command(ClientCommand::Pause { name, number, pausing, reply: Some(reply) })?;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }
}

pub(crate) fn lease_of(feed: &Arc<Feed>, received: &Received) -> DeliveryLease {
    DeliveryLease {
        feed: feed.clone(),
        epoch: received.epoch,
        topic: received.event.topic().clone(),
        partition: received.event.partition(),
        offset: received.event.offset(),
        id: received.event.id(),
        came_at: received.came_at,
    }
}
