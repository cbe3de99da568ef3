//! Deliveries taken together, to be settled together.
//!
//! For applications that handle many events at once: one future for all of them, and ranges of offsets on the wire.

use std::sync::Arc;

use prom_types::{EventId, Offset};

use crate::StoredEvent;
use crate::core::ClientCore;
use crate::deliver::Delivery;
use crate::feed::{Feed, Received};
use crate::settle::{DeliveryLease, SettleVerdict, Settling};
use crate::subscription::lease_of;

/// At least one delivery, in the order in which they came.
///
/// ```no_run
/// # async fn example(client: prom_client::Client) -> Result<(), prom_client::Error> {
/// let mut orders = client.subscribe("orders.placed", "stock").start().await?;
/// while let Some(batch) = orders.next_batch(500).await {
///     for order in batch.events() {
///         count(order.payload()?);
///     }
///     batch.ack().await?;
/// }
/// # fn count(_order: serde_json::Value) {}
/// # Ok(())
/// # }
/// ```
///
/// Dropping it settles nothing, as with a [`Delivery`].
pub struct Batch {
    core: Arc<ClientCore>,
    feed: Arc<Feed>,
    received: Vec<Received>,
}

impl Batch {
    pub(crate) fn new(core: Arc<ClientCore>, feed: Arc<Feed>, received: Vec<Received>) -> Self {
        Self { core, feed, received }
    }

    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    /// How many deliveries it holds.
    pub fn len(&self) -> usize {
        self.received.len()
    }

    /// The events, in the order in which they came.
    pub fn events(&self) -> impl ExactSizeIterator<Item = &StoredEvent> {
        self.received.iter().map(|received| &received.event)
    }

    /// All of them are done. The answer means: as durable as a publish. If some were no longer leased to this
    /// client, the others are still settled, and the error names the first of those.
    pub fn ack(&self) -> Settling {
        let mut runs: Vec<(DeliveryLease, Vec<(Offset, EventId)>)> = Vec::new();
        for (at, received) in self.received.iter().enumerate() {
            let event = &received.event;
            match runs.last_mut() {
                Some((first, more)) if is_of(first, received) => more.push((event.offset(), event.id())),
                _ => runs.push((lease_of(&self.feed, received), Vec::with_capacity(self.received.len() - at - 1))),
            }
        }
        Settling::many(&self.core, &SettleVerdict::Ack, runs)
    }

    /// To be settled one by one.
    pub fn into_deliveries(self) -> impl Iterator<Item = Delivery> {
        let Self { core, feed, received } = self;
        received.into_iter().map(move |received| {
            let lease = lease_of(&feed, &received);
            Delivery::new(core.clone(), received, lease)
        })
    }
}

fn is_of(lease: &DeliveryLease, received: &Received) -> bool {
    lease.partition == received.event.partition()
        && lease.epoch == received.epoch
        && lease.topic == *received.event.topic()
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.events()).finish()
    }
}
