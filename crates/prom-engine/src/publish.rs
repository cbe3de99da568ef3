//! Publishing one event or an atomic batch.
//!
//! Admission happens when the future is made; the commit is under way before it is first polled.
//! Dropping the future does not withdraw it, and what it stores counts all the same.

use std::cell::RefCell;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use prom_store::{Commit, Encoder, Stored};
use prom_types::{Durability, EpochMs, EventId, Json, NewEvent, Receipt};

use crate::admit::{Admitted, Place, check_batch};
use crate::bus::Core;
use crate::publish_many::Gathered;
use crate::topic::{Again, Committing, Concerned, Topic, try_again};
use crate::{Bus, Error};

thread_local! {
    /// Events that are published one by one share memory too.
    static ENCODER: RefCell<Encoder> = RefCell::default();
}

/// A publish being put together; `.await` sends it.
#[must_use = "nothing is published until this is awaited"]
pub struct Publish<'a> {
    bus: &'a Bus,
    /// What was refused already is only remembered; the future tells it.
    place: Result<(Place, NewEvent), Error>,
}

/// Ready when the event is durable, or known not to be.
#[must_use = "the event is durable only once this is ready"]
pub struct Publishing(State);

enum State {
    Refused(Option<Error>),
    Pending { commit: Committing<PlacedOne>, durability: Durability },
}

/// The only event of a commit.
struct PlacedOne {
    topic: Arc<Topic>,
    id: EventId,
    partition: u32,
}

impl Bus {
    /// Publishes one event: `bus.publish("orders.placed", json!({"id": 7})).key("7").await?`.
    ///
    /// The topic is made on first publish where [`crate::NewTopics`] allows it. The receipt comes
    /// when the event is as durable as it says.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), prom_engine::Error> {
    /// # let store = std::sync::Arc::new(prom_store::MemoryStore::new(std::sync::Arc::new(prom_store::SystemClock::new())));
    /// # let bus = prom_engine::Bus::start(store, Default::default()).await?;
    /// use serde_json::json;
    ///
    /// let receipt = bus
    ///     .publish("orders.placed", json!({"id": 7}))
    ///     .key("7")
    ///     .header("x-source", "web")
    ///     .await?;
    /// assert_eq!(receipt.offset, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn publish(&self, topic: &str, payload: impl Into<Json>) -> Publish<'_> {
        let place = self.core().place_for_publish(topic).map(|place| {
            let event = NewEvent::new(place.name().clone(), payload);
            (place, event)
        });
        Publish { bus: self, place }
    }

    /// Publishes an event that is put together already.
    pub fn publish_event(&self, event: NewEvent) -> Publishing {
        match self.core().place_for_publish(&event.topic) {
            Ok(place) => self.send(place, &event),
            Err(error) => Publishing::refused(error),
        }
    }

    /// Publishes all of these events or none, also across topics; receipts in their order.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), prom_engine::Error> {
    /// # let store = std::sync::Arc::new(prom_store::MemoryStore::new(std::sync::Arc::new(prom_store::SystemClock::new())));
    /// # let bus = prom_engine::Bus::start(store, Default::default()).await?;
    /// use prom_types::{NewEvent, TopicName};
    /// use serde_json::json;
    ///
    /// let placed = NewEvent::new(TopicName::parse("orders.placed")?, json!({"id": 7}));
    /// let counted = NewEvent::new(TopicName::parse("stats.orders")?, json!(1));
    /// let receipts = bus.publish_batch(vec![placed, counted]).await?;
    /// assert_eq!(receipts.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn publish_batch(
        &self,
        events: Vec<NewEvent>,
    ) -> impl Future<Output = Result<Vec<Receipt>, Error>> + Send + use<> {
        let sent = self.send_batch(&events);
        async move { sent?.await }
    }

    fn send(&self, place: Place, event: &NewEvent) -> Publishing {
        let core = self.core();
        let checked = core.check(&place, event);
        if let Err(refusal) = &checked
            && core.may_be_elsewhere(&place, refusal)
        {
            let commit = Committing::after_a_look(&event.topic, again(core.clone(), event.clone()));
            return Publishing(State::Pending { commit, durability: core.store.durability() });
        }
        let admit = |encoder: &RefCell<Encoder>| core.admit(place, event, &mut encoder.borrow_mut());
        let admitted = match checked.and_then(|()| ENCODER.with(admit)) {
            Ok(admitted) => admitted,
            Err(error) => return Publishing::refused(error),
        };
        let (commit, placed) = place_one(admitted);
        let again = (!placed.topic.is_stored()).then(|| again(core.clone(), event.clone()));
        let commit = core.topics.commit(&*core.store, commit, placed.topics());
        Publishing(State::Pending {
            commit: Committing::new(commit, placed, again),
            durability: core.store.durability(),
        })
    }

    fn send_batch(&self, events: &[NewEvent]) -> Result<Gathered, Error> {
        let core = self.core();
        core.check_open()?;
        let payload_bytes = events.iter().map(|event| event.payload.as_bytes().len()).sum();
        check_batch(events.len(), payload_bytes)?;
        // All are checked before the first is admitted: a refused batch makes no topic.
        let mut checked = Vec::with_capacity(events.len());
        for event in events {
            let place = core.place_for_publish(&event.topic)?;
            match core.check(&place, event) {
                Ok(()) => checked.push(place),
                Err(refusal) if core.may_be_elsewhere(&place, &refusal) => {
                    return Ok(self.look_first(events, &event.topic));
                }
                Err(refusal) => return Err(refusal),
            }
        }
        let mut batch = self.gather();
        for (place, event) in checked.into_iter().zip(events) {
            batch.admit(place, event)?;
        }
        Ok(batch.send_whole())
    }
}

fn place_one(admitted: Admitted) -> (Commit, PlacedOne) {
    let placed = PlacedOne { topic: admitted.topic, id: admitted.id, partition: admitted.append.log.partition };
    let mut commit = Commit::default();
    commit.appends.push(admitted.append);
    (commit, placed)
}

/// Publishes the event anew, by what its topic turned out to be.
fn again(core: Arc<Core>, event: NewEvent) -> Again<PlacedOne> {
    Box::new(move |refusal| {
        let runtime = core.topics.runtime().clone();
        runtime.spawn(async move {
            let admit = || {
                let place = core.place_for_publish(&event.topic)?;
                core.check(&place, &event)?;
                core.admit(place, &event, &mut Encoder::default()).map(place_one)
            };
            try_again(&core, refusal, admit).await
        })
    })
}

impl Concerned for PlacedOne {
    fn hear(&self, stored: &[Stored]) {
        self.topic.committed(stored);
    }

    fn topics(&self) -> &[Arc<Topic>] {
        std::slice::from_ref(&self.topic)
    }
}

impl Publish<'_> {
    fn with(mut self, set: impl FnOnce(&mut NewEvent)) -> Self {
        if let Ok((_, event)) = &mut self.place {
            set(event);
        }
        self
    }

    /// Decides the partition, the order and what compaction keeps.
    pub fn key(self, key: impl Into<String>) -> Self {
        self.with(|event| event.key = Some(key.into()))
    }

    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        if let Ok((_, event)) = &mut self.place
            && let Err(fault) = event.headers.insert(name, value)
        {
            self.place = Err(fault.into());
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

    /// Sends it now; the future only waits for the answer.
    pub fn send(self) -> Publishing {
        match self.place {
            Ok((place, event)) => self.bus.send(place, &event),
            Err(error) => Publishing::refused(error),
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
    fn refused(error: Error) -> Self {
        Self(State::Refused(Some(error)))
    }
}

impl Future for Publishing {
    type Output = Result<Receipt, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Refused(error) => Poll::Ready(Err(error.take().unwrap_or(Error::Closed))),
            State::Pending { commit, durability } => {
                let (placed, committed) = match ready!(Pin::new(commit).poll(context)) {
                    Ok(answer) => answer,
                    Err(error) => return Poll::Ready(Err(error)),
                };
                Poll::Ready(match committed.stored.first() {
                    Some(stored) => Ok(Receipt {
                        id: placed.id,
                        partition: placed.partition,
                        offset: stored.offset,
                        stored_ts: stored.stored_ts,
                        durability: *durability,
                    }),
                    None => Err(Error::Closed),
                })
            }
        }
    }
}
