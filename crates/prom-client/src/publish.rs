//! Publishing one event or an atomic batch.
//!
//! The client makes the ids. What was under way when a connection broke is sent again over the next,
//! with the same id, and stored once. Dropping a future does not withdraw what was handed over.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use prom_protocol::frame::err::MaybeStored;
use prom_types::{EpochMs, EventId, Invalid, Json, NewEvent, Receipt, TopicName, limits};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::client::ended;
use crate::core::{Core, now_ms};
use crate::pending::{Pending, What};
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
pub struct Publishing(State);

enum State {
    Refused(Option<Error>),
    /// There was no room: it is handed over when there is.
    Waiting(BoxFuture<'static, Result<Receipt, Error>>),
    HandedOver(oneshot::Receiver<Result<Receipt, Error>>),
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
    pub fn publish_batch(
        &self,
        mut events: Vec<NewEvent>,
    ) -> impl Future<Output = Result<Vec<Receipt>, Error>> + Send + use<> {
        let core = self.core().clone();
        let checked = check_batch(&core, &mut events);
        async move {
            checked?;
            if events.is_empty() {
                return Ok(Vec::new());
            }
            let (reply, answer) = oneshot::channel();
            core.hand_over(What::Many { events, reply: Some(reply) }).await;
            answer.await.unwrap_or_else(|_| Err(ended()))
        }
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

    /// Hands it over now if there is room; the future only waits for the answer. Without room it is
    /// handed over when the future is polled and room has come.
    pub fn send(self) -> Publishing {
        match self.event {
            Ok(event) => Publishing::begin(self.client.core(), event),
            Err(error) => Publishing(State::Refused(Some(error))),
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
    fn begin(core: &Arc<Core>, mut event: NewEvent) -> Self {
        if let Err(error) = check(core, &mut event) {
            return Self(State::Refused(Some(error)));
        }
        let (reply, answer) = oneshot::channel();
        let what = What::One { event: Box::new(event), reply: Some(reply) };
        match core.hand_over_now(what) {
            Ok(()) => Self(State::HandedOver(answer)),
            Err(what) => {
                let core = core.clone();
                let waiting = async move {
                    core.hand_over(what).await;
                    answer.await.unwrap_or_else(|_| Err(ended()))
                };
                Self(State::Waiting(waiting.boxed()))
            }
        }
    }
}

impl Future for Publishing {
    type Output = Result<Receipt, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Refused(error) => Poll::Ready(Err(error.take().unwrap_or_else(ended))),
            State::Waiting(waiting) => waiting.as_mut().poll(context),
            State::HandedOver(answer) => {
                Pin::new(answer).poll(context).map(|answer| answer.unwrap_or_else(|_| Err(ended())))
            }
        }
    }
}

impl Core {
    /// Gives it back where there is no room.
    fn hand_over_now(&self, what: What) -> Result<(), What> {
        let events = match &what {
            What::One { event, .. } => std::slice::from_ref(&**event),
            What::Many { events, .. } => events,
        };
        match self.room.try_enter(events) {
            Some(place) => {
                let deadline = Instant::now() + self.options.give_up_after;
                self.mailbox.publish(Pending::new(what, deadline, Some(place)));
                Ok(())
            }
            None => Err(what),
        }
    }

    /// Waits for room, but not longer than a publish may take. Whoever waits for the answer is told.
    async fn hand_over(&self, what: What) {
        let deadline = Instant::now() + self.options.give_up_after;
        let mut pending = Pending::new(what, deadline, None);
        match tokio::time::timeout_at(deadline, self.room.enter(pending.events())).await {
            Ok(place) => {
                pending.take_place(place);
                self.mailbox.publish(pending);
            }
            Err(_) => pending.fail(Error::GaveUp {
                after: self.options.give_up_after,
                stored: MaybeStored::No,
                reason: "too much waits to be published already".to_owned(),
            }),
        }
    }
}

/// Whatever can be known to be wrong without asking the hub; and the id.
fn check(core: &Core, event: &mut NewEvent) -> Result<(), Error> {
    if event.topic.is_reserved() {
        return Err(Invalid::ReservedTopic { name: event.topic.to_string() }.into());
    }
    event.check()?;
    event.id.get_or_insert_with(|| core.ids.make(now_ms()));
    Ok(())
}

fn check_batch(core: &Core, events: &mut [NewEvent]) -> Result<(), Error> {
    if events.len() > limits::BATCH_EVENTS {
        let (size, limit) = (events.len(), limits::BATCH_EVENTS);
        return Err(Invalid::TooLarge { what: "number of events in the batch", size, limit }.into());
    }
    events.iter_mut().try_for_each(|event| check(core, event))
}
