//! Publishing one event or an atomic batch.
//!
//! The client makes the ids. What was under way when a connection broke is sent again over the next,
//! with the same id, and stored once. Dropping a future does not withdraw what was handed over.

use std::future::{Future, IntoFuture, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use prom_protocol::frame::err::MaybeStored;
use prom_types::{EpochMs, EventId, Expectation, Invalid, Json, NewEvent, Receipt, TopicName, limits};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::client::ended;
use crate::core::ClientCore;
use crate::pending::Pending;
use crate::room::RoomShare;
use crate::slots::AnswerSlot;
use crate::{Client, Error};

/// A publish being put together; `.await` sends it.
#[must_use = "nothing is published until this is awaited"]
pub struct Publish<'a> {
    client: &'a Client,
    /// What was refused already is only remembered; the future tells it.
    event: Result<NewEvent, Error>,
}

/// Ready when the event is durable, or known not to be.
#[must_use = "the event is durable only once this is ready"]
pub struct Publishing(PublishingState);

enum PublishingState {
    /// Known without asking the hub.
    Refused(Option<Box<Error>>),
    /// There was no room: it is handed over when there is.
    Waiting(BoxFuture<'static, Result<Receipt, Error>>),
    HandedOver(AnswerSlot),
}

/// Ready when all events of the batch are durable, or known not to be.
#[must_use = "the events are durable only once this is ready"]
pub struct PublishingBatch(PublishingBatchState);

enum PublishingBatchState {
    /// Known without asking the hub.
    Known(Option<Result<Vec<Receipt>, Error>>),
    /// There was no room: it is handed over when there is.
    Waiting(BoxFuture<'static, Result<Vec<Receipt>, Error>>),
    HandedOver(oneshot::Receiver<Result<Vec<Receipt>, Error>>),
}

impl Client {
    /// Publishes one event: `client.publish("orders.placed", json!({"id": 7})).key("7").await?`.
    ///
    /// The receipt comes when the event is as durable as it says. Where too much waits already
    /// ([`crate::ClientOptions::max_pending`]) the future waits for room first.
    pub fn publish(&self, topic: &str, payload: impl Into<Json>) -> Publish<'_> {
        let event = TopicName::parse(topic).map(|topic| NewEvent::new(topic, payload)).map_err(Error::from);
        Publish { client: self, event }
    }

    /// Publishes an event that is put together already.
    pub fn publish_event(&self, event: NewEvent) -> Publishing {
        Publishing::begin(self.core(), event)
    }

    /// Publishes all of these events or none, also across topics; receipts in their order. They have to
    /// fit into one frame.
    ///
    /// ```no_run
    /// # async fn example(client: prom_client::Client) -> Result<(), prom_client::Error> {
    /// use prom_client::{NewEvent, TopicName, json};
    ///
    /// let placed = NewEvent::new(TopicName::parse("orders.placed")?, json!({"id": 7}));
    /// let counted = NewEvent::new(TopicName::parse("stats.orders")?, json!(1));
    /// let receipts = client.publish_batch(vec![placed, counted]).await?;
    /// assert_eq!(receipts.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn publish_batch(&self, mut events: Vec<NewEvent>) -> PublishingBatch {
        let core = self.core();
        PublishingBatch(match check_batch(core, &mut events) {
            Err(error) => PublishingBatchState::Known(Some(Err(error))),
            Ok(()) if events.is_empty() => PublishingBatchState::Known(Some(Ok(Vec::new()))),
            Ok(()) => PublishingBatchState::begin(core, events),
        })
    }
}

impl Publish<'_> {
    fn with(mut self, set: impl FnOnce(&mut NewEvent)) -> Self {
        if let Ok(event) = &mut self.event {
            set(event);
        }
        self
    }

    /// Decides the partition, the order and what compaction keeps.
    pub fn key(self, key: impl Into<String>) -> Self {
        self.with(|event| event.key = Some(key.into()))
    }

    /// A header, by name and value.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        if let Ok(event) = &mut self.event
            && let Err(fault) = event.headers.insert(name, value)
        {
            self.event = Err(fault.into());
        }
        self
    }

    /// Publishing the same id again within ten minutes stores nothing and gives the first receipt.
    pub fn id(self, id: EventId) -> Self {
        self.with(|event| event.id = Some(id))
    }

    /// As [`Publish::id`], for as long as the event is retained.
    pub fn exact_id(self, id: EventId) -> Self {
        self.with(|event| {
            event.id = Some(id);
            event.exact = true;
        })
    }

    /// When it happened; decides nothing.
    pub fn ts(self, ts: EpochMs) -> Self {
        self.with(|event| event.ts = Some(ts))
    }

    /// A tag, besides those it has.
    pub fn tag(self, tag: impl Into<String>) -> Self {
        self.with(|event| event.tags.push(tag.into()))
    }

    /// An event that led to this one.
    pub fn caused_by(self, cause: EventId) -> Self {
        self.with(|event| event.caused_by.push(cause))
    }

    /// The session of the publisher.
    pub fn sid(self, sid: impl Into<String>) -> Self {
        self.with(|event| event.sid = Some(sid.into()))
    }

    /// A partition chosen by hand.
    pub fn partition(self, partition: u32) -> Self {
        self.with(|event| event.partition = Some(partition))
    }

    /// Stores it only if this holds; else the error's code is [`prom_protocol::ErrorCode::Conflict`], and
    /// [`Error::actual`] says what is so.
    ///
    /// ```no_run
    /// # async fn example(client: prom_client::Client) -> Result<(), prom_client::Error> {
    /// use prom_client::{Expectation, json};
    ///
    /// let opened = client.publish("accounts", json!({"opened": true})).key("7").expecting(Expectation::KeyOffset(None)).await?;
    /// let next = Expectation::KeyOffset(Some(opened.offset));
    /// client.publish("accounts", json!({"paid_in": 5})).key("7").expecting(next).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn expecting(self, expected: Expectation) -> Self {
        self.with(|event| event.expect = Some(expected))
    }

    /// It also goes to the topic of its schema's version, such as `orders.placed.v2`: both or neither. Without a schema it
    /// has no version, and no copy.
    pub fn dual_write(self) -> Self {
        self.with(|event| event.dual_write = true)
    }

    /// Hands it over now if there is room; the future only waits for the answer. Without room it is
    /// handed over when the future is polled and room has come.
    pub fn send(self) -> Publishing {
        match self.event {
            Ok(event) => Publishing::begin(self.client.core(), event),
            Err(error) => Publishing(PublishingState::Refused(Some(Box::new(error)))),
        }
    }
}

impl IntoFuture for Publish<'_> {
    type Output = Result<Receipt, Error>;
    type IntoFuture = Publishing;

    fn into_future(self) -> Publishing {
        self.send()
    }
}

impl Publishing {
    fn begin(core: &Arc<ClientCore>, event: NewEvent) -> Self {
        let refused = |error| PublishingState::Refused(Some(Box::new(error)));
        if let Err(error) = check(&event) {
            return Self(refused(error));
        }
        let cost = core.room.cost(std::slice::from_ref(&event));
        Self(if core.room.try_take(cost) {
            core.mailbox.publish(core, event, cost, None).map_or_else(refused, PublishingState::HandedOver)
        } else {
            let core = core.clone();
            PublishingState::Waiting(async move { wait_and_publish(&core, event, cost).await }.boxed())
        })
    }
}

/// Waits for room, but not longer than a publish may take.
async fn wait_and_publish(core: &ClientCore, event: NewEvent, cost: u32) -> Result<Receipt, Error> {
    let deadline = enter(core, cost).await?;
    let claim = core.mailbox.publish(core, event, cost, Some(deadline))?;
    poll_fn(|context| claim.poll(context)).await.unwrap_or_else(|| Err(ended()))
}

/// Takes `cost` of the room; the time until the returned deadline is left for publishing.
async fn enter(core: &ClientCore, cost: u32) -> Result<Instant, Error> {
    let deadline = Instant::now() + core.options.give_up_after;
    match tokio::time::timeout_at(deadline, core.room.take(cost)).await {
        Ok(()) => Ok(deadline),
        Err(_) => Err(Error::GaveUp {
            after: core.options.give_up_after,
            stored: MaybeStored::No,
            reason: "too much waits to be published already".to_owned(),
        }),
    }
}

impl PublishingBatchState {
    fn begin(core: &Arc<ClientCore>, events: Vec<NewEvent>) -> Self {
        let cost = core.room.cost(&events);
        let (reply, answer) = oneshot::channel();
        if core.room.try_take(cost) {
            core.mailbox.publish_batch(Pending::batch(events, RoomShare::of(&core.room, cost), reply, None));
            return Self::HandedOver(answer);
        }
        let core = core.clone();
        let waiting = async move {
            let deadline = enter(&core, cost).await?;
            core.mailbox.publish_batch(Pending::batch(events, RoomShare::of(&core.room, cost), reply, Some(deadline)));
            answer.await.unwrap_or_else(|_| Err(ended()))
        };
        Self::Waiting(waiting.boxed())
    }
}

impl Future for Publishing {
    type Output = Result<Receipt, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            PublishingState::Refused(error) => Poll::Ready(Err(error.take().map_or_else(ended, |error| *error))),
            PublishingState::Waiting(waiting) => waiting.as_mut().poll(context),
            PublishingState::HandedOver(claim) => {
                claim.poll(context).map(|answer| answer.unwrap_or_else(|| Err(ended())))
            }
        }
    }
}

impl Future for PublishingBatch {
    type Output = Result<Vec<Receipt>, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            PublishingBatchState::Known(result) => Poll::Ready(result.take().unwrap_or_else(|| Err(ended()))),
            PublishingBatchState::Waiting(waiting) => waiting.as_mut().poll(context),
            PublishingBatchState::HandedOver(answer) => {
                Pin::new(answer).poll(context).map(|answer| answer.unwrap_or_else(|_| Err(ended())))
            }
        }
    }
}

/// Whatever can be known to be wrong without asking the hub.
fn check(event: &NewEvent) -> Result<(), Error> {
    if event.topic.is_reserved() {
        return Err(Invalid::ReservedTopic { name: event.topic.to_string() }.into());
    }
    Ok(event.check()?)
}

/// The same for all of them; and their ids.
fn check_batch(core: &ClientCore, events: &mut [NewEvent]) -> Result<(), Error> {
    if events.len() > limits::BATCH_EVENTS {
        let (size, limit) = (events.len(), limits::BATCH_EVENTS);
        return Err(Invalid::TooLarge { what: "number of events in the batch", size, limit }.into());
    }
    let now = core.now_ms();
    for event in events {
        check(event)?;
        event.id.get_or_insert_with(|| core.ids.make(now));
    }
    Ok(())
}
