//! Publishing one event, independent events or an atomic batch.
//!
//! Admission happens when the future is made; the commit is under way before it is first polled.
//! Dropping the future does not withdraw it, and what it stores still counts.

use std::cell::RefCell;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::FutureExt;
use hashbrown::HashSet;
use prom_store::Encoder;
use prom_types::{EpochMs, EventId, Expectation, Json, NewEvent, Receipt};

use crate::admit::{TopicSlot, check_batch};
use crate::commit::{CommittingUnit, PendingUnit, after_a_look};
use crate::schema::{deferred, deferred_each};
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
    event: Result<(TopicSlot, NewEvent), Error>,
}

/// Ready when the event is durable, or known not to be.
#[must_use = "the event is durable only once this is ready"]
pub struct Publishing(PublishState);

enum PublishState {
    Refused(Option<Error>),
    Pending(PendingUnit),
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
        let event = self.core().slot_for_publish(topic).map(|slot| {
            let event = NewEvent::new(slot.name().clone(), payload);
            (slot, event)
        });
        Publish { bus: self, event }
    }

    /// Publishes an event that is put together already.
    pub fn publish_event(&self, event: NewEvent) -> Publishing {
        match self.core().slot_for_publish(&event.topic) {
            Ok(slot) => self.send(slot, &event),
            Err(error) => Publishing::refused(error),
        }
    }

    /// Publishes all of these events or none, also across topics; receipts in their order. What they expect is judged
    /// before the first of them, and one that is not met refuses all.
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

    /// Publishes events that are independent: one that is refused does not hold up the others.
    /// Results in their order. What one expects is judged behind those before it.
    pub fn publish_many(
        &self,
        events: Vec<NewEvent>,
    ) -> impl Future<Output = Vec<Result<Receipt, Error>>> + Send + use<> {
        if events.iter().any(|event| event.expect.is_some()) {
            return self.publish_one_by_one(events).left_future();
        }
        let must_wait = events.iter().any(|event| self.must_wait(event));
        if must_wait {
            return deferred_each(self, events).left_future().right_future();
        }
        let mut work = self.unit_of_work();
        let admitted: Vec<Result<(), Error>> = events.iter().map(|event| work.publish(event)).collect();
        let committing = work.commit_each();
        async move { results_of(admitted, committing.await) }.right_future().right_future()
    }

    /// Each in a commit of its own, in their order: an expectation that is not met refuses what it shares a commit with.
    fn publish_one_by_one(
        &self,
        events: Vec<NewEvent>,
    ) -> impl Future<Output = Vec<Result<Receipt, Error>>> + Send + use<> {
        let publishing: Vec<Publishing> = events.into_iter().map(|event| self.publish_event(event)).collect();
        futures::future::join_all(publishing)
    }

    /// Whether an event has to be handed over by itself, by [`Bus::publish_event`] or [`Bus::publish_many`]: its publisher
    /// expects something, or it must wait.
    pub fn goes_alone(&self, event: &NewEvent) -> bool {
        event.expect.is_some() || self.must_wait(event)
    }

    /// Whether an event is judged by its schemas on another thread first: its judgement takes long, others wait before it, or
    /// the schemas are not in memory.
    pub fn must_wait(&self, event: &NewEvent) -> bool {
        let core = self.core();
        if core.schemas.is_empty() {
            return false;
        }
        let bytes = event.payload.as_bytes().len();
        match core.topics.get(&event.topic) {
            Some(topic) => topic.schema.must_wait(bytes),
            // Its first event.
            None => core.schemas.known_slot(&event.topic).is_some_and(|slot| slot.must_wait(bytes)),
        }
    }

    fn send(&self, slot: TopicSlot, event: &NewEvent) -> Publishing {
        let core = self.core();
        let checked = core.check(&slot, event, self.maker());
        if checked.is_ok() && core.is_judged_elsewhere(&slot, event) {
            return Publishing(PublishState::Pending(deferred(self, vec![event.clone()])));
        }
        if let Err(refusal) = &checked
            && core.may_be_elsewhere(&slot, refusal)
        {
            let looked = after_a_look(self, std::slice::from_ref(event), &event.topic);
            return Publishing(PublishState::Pending(looked));
        }
        let mut work = self.unit_of_work();
        let admit = |encoder: &RefCell<Encoder>| work.publish_alone(slot, event, &mut encoder.borrow_mut());
        match checked.and_then(|()| ENCODER.with(admit)) {
            Ok(()) => Publishing(PublishState::Pending(work.send())),
            Err(error) => Publishing::refused(error),
        }
    }

    fn send_batch(&self, events: &[NewEvent]) -> Result<CommittingUnit, Error> {
        let core = self.core();
        core.check_open()?;
        let payload_bytes = events.iter().map(|event| event.payload.as_bytes().len()).sum();
        check_batch(events.len(), payload_bytes)?;
        // All are checked before the first is admitted: a refused batch makes no topic.
        let mut checked = Vec::with_capacity(events.len());
        for event in events {
            let slot = core.slot_for_publish(&event.topic)?;
            match core.check(&slot, event, self.maker()) {
                Ok(()) => checked.push(slot),
                Err(refusal) if core.may_be_elsewhere(&slot, &refusal) => {
                    return Ok(after_a_look(self, events, &event.topic).into());
                }
                Err(refusal) => return Err(refusal),
            }
        }
        core.check_room_for_topics(self.maker(), new_topics(&checked))?;
        if events.iter().any(|event| self.must_wait(event)) {
            return Ok(deferred(self, events.to_vec()).into());
        }
        let mut work = self.unit_of_work();
        for (slot, event) in checked.into_iter().zip(events) {
            work.publish_to(slot, event)?;
        }
        Ok(work.send().into())
    }
}

/// How many topics these would make.
fn new_topics(slots: &[TopicSlot]) -> usize {
    let new = slots.iter().filter(|slot| matches!(slot, TopicSlot::New(_)));
    new.map(TopicSlot::name).collect::<HashSet<_>>().len()
}

/// The result of each event: refused before, or as its commit was answered.
pub(crate) fn results_of(
    admitted: Vec<Result<(), Error>>,
    committed: Result<Vec<Receipt>, Error>,
) -> Vec<Result<Receipt, Error>> {
    let mut receipts = match committed {
        Ok(receipts) => receipts.into_iter(),
        Err(error) => {
            return admitted.into_iter().map(|one| one.and_then(|()| Err(error.again_published()))).collect();
        }
    };
    admitted.into_iter().map(|one| one.and_then(|()| receipts.next().ok_or(Error::Closed))).collect()
}

impl Publish<'_> {
    fn with(mut self, set: impl FnOnce(&mut NewEvent)) -> Self {
        if let Ok((_, event)) = &mut self.event {
            set(event);
        }
        self
    }

    /// Decides the partition, the order and what compaction keeps.
    pub fn key(self, key: impl Into<String>) -> Self {
        self.with(|event| event.key = Some(key.into()))
    }

    /// Adds a header: `x-…`, `content-type`, `traceparent` or `tracestate`.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        if let Ok((_, event)) = &mut self.event
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

    /// Adds a tag.
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

    /// Stores it only if this holds; else the answer is [`Error::Unmet`]. Not looked at for an id that is there already.
    pub fn expecting(self, expected: Expectation) -> Self {
        self.with(|event| event.expect = Some(expected))
    }

    /// Stores it in the topic of its schema's version too, both or neither.
    pub fn dual_write(self) -> Self {
        self.with(|event| event.dual_write = true)
    }

    /// Sends it now; the future only waits for the answer.
    pub fn send(self) -> Publishing {
        match self.event {
            Ok((slot, event)) => self.bus.send(slot, &event),
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
        Self(PublishState::Refused(Some(error)))
    }
}

impl Future for Publishing {
    type Output = Result<Receipt, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            PublishState::Refused(error) => Poll::Ready(Err(error.take().unwrap_or(Error::Closed))),
            PublishState::Pending(pending) => Poll::Ready(match ready!(Pin::new(pending).poll(context)) {
                Ok(durable) => durable.receipts().next().ok_or(Error::Closed),
                Err(error) => Err(Error::publish(error)),
            }),
        }
    }
}
