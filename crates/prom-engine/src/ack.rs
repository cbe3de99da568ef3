//! Settling an event for good. The answer means: as durable as a publish.
//!
//! The request leaves when the future is made, unless the dispatcher's mailbox is full; awaiting it
//! waits for the durable settlement. Many acks that arrive together become durable together.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::FutureExt;
use futures::future::join_all;
use smallvec::{SmallVec, smallvec};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;

use prom_store::CursorName;
use prom_types::Offset;

use crate::deliver::{Delivery, Port, Ticket};
use crate::dispatch::task::{DispatchRequest, SettleReply};
use crate::dispatch::{LeaseId, SubscriberId};
use crate::event::EventOrigin;
use crate::{Error, Mode};

/// Leases of one subscriber with one dispatcher.
pub(crate) type LeasedOffsets = SmallVec<[(Offset, LeaseId); 1]>;

impl Delivery {
    /// Settles the event. Of one that is settled already it is fine; of a lease that ended otherwise
    /// it is [`Error::NotLeased`].
    pub fn ack(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.ticket().ack()
    }
}

impl Ticket {
    /// As [`Delivery::ack`].
    pub fn ack(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let leases: LeasedOffsets = smallvec![(self.offset, self.lease)];
        ack_leases(self.origin.clone(), self.subscriber, leases)
    }
}

/// Settles many deliveries with one message and one answer per partition. The first error is
/// returned; whatever it does not name is settled.
pub fn ack_all(deliveries: Vec<Delivery>) -> impl Future<Output = Result<(), Error>> + Send + use<> {
    let tickets: Vec<Ticket> = deliveries.into_iter().map(Delivery::into_ticket).collect();
    let sent: Vec<_> =
        by_dispatcher(&tickets).into_iter().map(|one| ack_leases(one.origin, one.subscriber, one.leases)).collect();
    async move { join_all(sent).await.into_iter().collect() }
}

/// As [`ack_all`], by tickets, with a result for each in their order.
pub fn ack_tickets(tickets: Vec<Ticket>) -> impl Future<Output = Vec<Result<(), Error>>> + Send + use<> {
    let sent: Vec<_> = by_dispatcher(&tickets)
        .into_iter()
        .map(|one| {
            let (origin, subscriber) = (one.origin.clone(), one.subscriber);
            ack_leases(one.origin, one.subscriber, one.leases).map(move |result| (origin, subscriber, result))
        })
        .collect();
    async move {
        let answers = join_all(sent).await;
        if answers.iter().all(|(_, _, result)| result.is_ok()) {
            return tickets.iter().map(|_| Ok(())).collect();
        }
        let result_of = |ticket: &Ticket| {
            let ours = answers.iter().find(|(origin, subscriber, _)| {
                Arc::ptr_eq(origin, &ticket.origin) && *subscriber == ticket.subscriber
            });
            match ours {
                Some((_, _, Err(Error::NotLeased { topic, offsets }))) if offsets.contains(&ticket.offset) => {
                    Err(Error::NotLeased { topic: topic.clone(), offsets: vec![ticket.offset] })
                }
                Some((_, _, Err(Error::Revoked { topic, partition, offsets }))) if offsets.contains(&ticket.offset) => {
                    let (topic, partition) = (topic.clone(), *partition);
                    Err(Error::Revoked { topic, partition, offsets: vec![ticket.offset] })
                }
                Some((_, _, Ok(()) | Err(Error::NotLeased { .. } | Error::Revoked { .. }))) => Ok(()),
                Some((_, _, Err(error))) => Err(error.again()),
                None => Err(Error::Closed),
            }
        };
        tickets.iter().map(result_of).collect()
    }
}

/// Tickets that go to one dispatcher.
pub(crate) struct DispatcherTickets {
    pub origin: Arc<EventOrigin>,
    pub subscriber: SubscriberId,
    pub leases: LeasedOffsets,
}

/// Sorts tickets by where they go. Few dispatchers, long runs of the same: the last is looked at first.
pub(crate) fn by_dispatcher(tickets: &[Ticket]) -> Vec<DispatcherTickets> {
    let mut sorted: Vec<DispatcherTickets> = Vec::new();
    for ticket in tickets {
        let same = |one: &&mut DispatcherTickets| {
            Arc::ptr_eq(&one.origin, &ticket.origin) && one.subscriber == ticket.subscriber
        };
        match sorted.iter_mut().rev().find(same) {
            Some(one) => one.leases.push((ticket.offset, ticket.lease)),
            None => sorted.push(DispatcherTickets {
                leases: smallvec![(ticket.offset, ticket.lease)],
                origin: ticket.origin.clone(),
                subscriber: ticket.subscriber,
            }),
        }
    }
    sorted
}

fn ack_leases(
    origin: Arc<EventOrigin>,
    subscriber: SubscriberId,
    leases: LeasedOffsets,
) -> impl Future<Output = Result<(), Error>> + Send {
    let offsets = leases.iter().map(|(offset, _)| *offset).collect();
    settle(origin, offsets, move |reply| DispatchRequest::Ack { subscriber, leases, reply: Some(reply) })
}

/// Sends a request now if the mailbox has room, and waits for its answer.
pub(crate) fn settle(
    origin: Arc<EventOrigin>,
    offsets: SmallVec<[Offset; 1]>,
    request: impl FnOnce(SettleReply) -> DispatchRequest + 'static,
) -> impl Future<Output = Result<(), Error>> + Send {
    let (reply, answer) = oneshot::channel();
    let sent = match &origin.port {
        Some(port) => port.mailbox.try_send(request(reply)),
        None => Ok(()),
    };
    async move {
        let delivered = match (sent, &origin.port) {
            (Err(TrySendError::Full(request)), Some(port)) => port.mailbox.send(request).await.is_ok(),
            (sent, _) => sent.is_ok(),
        };
        if delivered && let Ok(result) = answer.await {
            return result;
        }
        dispatcher_ended(&origin, &offsets).await
    }
}

/// The dispatcher has retired, and with it every lease. What is settled nevertheless is fine.
async fn dispatcher_ended(origin: &EventOrigin, offsets: &[Offset]) -> Result<(), Error> {
    let mut open = offsets.to_vec();
    if let Some(port) = &origin.port {
        let name = CursorName::new(origin.log.clone(), port.group.clone());
        if let Some(cursor) = port.store.cursor(&name).await? {
            open.retain(|offset| !cursor.is_settled(*offset));
        }
    }
    let topic = origin.log.topic.clone();
    let failed = |port: &&Port| port.failed.load(Ordering::Relaxed);
    match origin.port.as_ref().map(|port| port.mode) {
        _ if open.is_empty() => Ok(()),
        _ if let Some(port) = origin.port.as_ref().filter(failed) => {
            Err(Error::Restarted { group: port.group.clone(), topic })
        }
        Some(Mode::Partitioned) => Err(Error::Revoked { topic, partition: origin.log.partition, offsets: open }),
        _ => Err(Error::NotLeased { topic, offsets: open }),
    }
}
