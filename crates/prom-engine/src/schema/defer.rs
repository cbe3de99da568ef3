//! Events whose judgement takes long: judged on a thread of their own, then published in the order in which they came.
//!
//! ```text
//!   publish ─▶ joins the topic's line ─▶ its turn ─▶ judged elsewhere ─▶ handed to the store ─▶ the next one's turn
//! ```
//!
//! While somebody is in line, everything else that is published to the topic joins it too, so nothing is overtaken. What
//! waits is bounded; beyond it publishing is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prom_store::Outcome;
use prom_types::{NewEvent, Receipt};

use super::compiled::CompiledTopic;
use super::slot::{LineTurn, SchemaSlot};
use crate::admit::TopicSlot;
use crate::bus::Core;
use crate::commit::{Durable, NotCommitted, PendingUnit};
use crate::limits::DEFERRED_BYTES;
use crate::{Bus, Error};

/// Bytes of events that wait to be judged, over all topics.
#[derive(Debug, Default)]
pub(crate) struct DeferredBytes(AtomicUsize);

/// Gives its bytes back when it is dropped.
struct Taken {
    core: Arc<Core>,
    bytes: usize,
}

/// Events in line.
struct Waiting {
    /// Whom the topics count to that they make.
    maker: Option<Arc<str>>,
    events: Vec<NewEvent>,
    turns: Vec<LineTurn>,
    taken: Taken,
}

/// An atomic batch, or one event, that is judged elsewhere first.
pub(crate) fn deferred(bus: &Bus, events: Vec<NewEvent>) -> PendingUnit {
    let core = bus.core();
    let durability = core.store.durability();
    let waiting = match Waiting::join(core, bus.maker(), events) {
        Ok(waiting) => waiting,
        Err(refused) => return PendingUnit::refused(refused, durability),
    };
    let core = core.clone();
    let runtime = core.topics.runtime().clone();
    PendingUnit::again(runtime.spawn(async move { publish_whole(core, waiting).await }), durability)
}

/// Independent events that are judged elsewhere first; results in their order.
pub(crate) fn deferred_each(
    bus: &Bus,
    events: Vec<NewEvent>,
) -> impl Future<Output = Vec<Result<Receipt, Error>>> + Send + use<> {
    let count = events.len();
    let core = bus.core().clone();
    let runtime = core.topics.runtime().clone();
    let under_way = Waiting::join(&core, bus.maker(), events)
        .map(|waiting| runtime.spawn(async move { publish_each(core, waiting).await }));
    async move {
        let for_all = |error: Error| (0..count).map(|_| Err(error.again_published())).collect();
        match under_way {
            Ok(task) => task.await.unwrap_or_else(|_| for_all(stopped())),
            Err(refused) => for_all(Error::PublishFailed { reason: refused.to_string(), stored: Outcome::NotStored }),
        }
    }
}

impl Waiting {
    fn join(core: &Arc<Core>, maker: Option<&Arc<str>>, events: Vec<NewEvent>) -> Result<Self, Error> {
        core.check_open()?;
        let bytes = events.iter().map(held_bytes).sum();
        let taken = Taken::take(core, bytes)?;
        let mut slots: Vec<Arc<SchemaSlot>> = Vec::new();
        for event in &events {
            let slot = core.schemas.slot(&event.topic);
            if !slots.iter().any(|known| Arc::ptr_eq(known, &slot)) {
                slots.push(slot);
            }
        }
        let turns = slots.iter().map(SchemaSlot::join).collect();
        Ok(Self { maker: maker.cloned(), events, turns, taken })
    }

    async fn turns_come(&mut self) {
        for turn in &mut self.turns {
            turn.comes().await;
        }
    }
}

/// What an event takes while it waits: one with a short payload may have long headers.
fn held_bytes(event: &NewEvent) -> usize {
    let headers: usize = event.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    let key = event.key.as_ref().map_or(0, String::len);
    size_of::<NewEvent>() + event.payload.as_bytes().len() + headers + key
}

impl Taken {
    fn take(core: &Arc<Core>, bytes: usize) -> Result<Self, Error> {
        let waiting = core.schemas.deferred.0.fetch_add(bytes, Ordering::AcqRel);
        let taken = Self { core: core.clone(), bytes };
        if waiting > 0 && waiting + bytes > DEFERRED_BYTES {
            let reason = "too many events wait to be judged by their schemas; try again in a moment".to_owned();
            return Err(Error::NotReady { reason });
        }
        Ok(taken)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.core.schemas.deferred.0.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

async fn publish_whole(core: Arc<Core>, mut waiting: Waiting) -> Result<Durable, NotCommitted> {
    waiting.turns_come().await;
    let mut judged = Vec::with_capacity(waiting.events.len());
    for event in waiting.events {
        judged.push(core.judge(event).await?);
    }
    let mut slots = Vec::with_capacity(judged.len());
    for event in &judged {
        slots.push(core.slot_of(event, waiting.maker.as_ref()).await?);
    }
    let mut work = core.unit_of_work_for(waiting.maker.as_ref());
    for (slot, event) in slots.into_iter().zip(&judged) {
        work.publish_judged(slot, event)?;
    }
    let pending = work.send();
    drop((waiting.turns, waiting.taken));
    pending.await
}

async fn publish_each(core: Arc<Core>, mut waiting: Waiting) -> Vec<Result<Receipt, Error>> {
    waiting.turns_come().await;
    let mut work = core.unit_of_work_for(waiting.maker.as_ref());
    let mut admitted = Vec::with_capacity(waiting.events.len());
    for event in waiting.events {
        let judged = async {
            let event = core.judge(event).await?;
            let slot = core.slot_of(&event, waiting.maker.as_ref()).await?;
            work.publish_judged(slot, &event)
        };
        admitted.push(judged.await);
    }
    let committing = work.commit_each();
    drop((waiting.turns, waiting.taken));
    crate::publish::results_of(admitted, committing.await)
}

impl Core {
    /// Judges an event on a thread that may be kept busy, and gives it back with its stamp. Schemas that are not in memory are
    /// compiled first.
    pub(crate) async fn judge(&self, event: NewEvent) -> Result<NewEvent, Error> {
        let Some(compiled) = self.schema_loader().compiled(&event.topic).await? else {
            return Ok(event);
        };
        // One that only waited for its turn, or for the schemas: the line is short again at once.
        if event.payload.as_bytes().len() <= compiled.quick_bytes {
            tokio::task::consume_budget().await;
            return stamped(&compiled, event);
        }
        let judge = move || stamped(&compiled, event);
        self.filter_places.run(judge).await.unwrap_or_else(|| Err(stopped()))
    }
}

impl Core {
    /// The topic of an event that was judged; the store is asked where it is not known here.
    pub(crate) async fn slot_of(&self, event: &NewEvent, maker: Option<&Arc<str>>) -> Result<TopicSlot, Error> {
        let slot = self.slot_for_publish(&event.topic)?;
        match self.check(&slot, event, maker) {
            Err(refusal) if self.may_be_elsewhere(&slot, &refusal) => {
                self.topics.learn(&*self.store, &event.topic).await?;
                self.slot_for_publish(&event.topic)
            }
            Err(refusal) => Err(refusal),
            Ok(()) => Ok(slot),
        }
    }
}

fn stamped(compiled: &CompiledTopic, event: NewEvent) -> Result<NewEvent, Error> {
    Ok(compiled.stamp(&event)?.unwrap_or(event))
}

fn stopped() -> Error {
    Error::PublishFailed { reason: "judging the event was stopped".to_owned(), stored: Outcome::NotStored }
}

#[cfg(test)]
mod tests {
    use prom_types::TopicName;
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_and_keys_count_to_what_waits() {
        let mut event = NewEvent::new(TopicName::parse("a").unwrap(), json!(1));
        let short = held_bytes(&event);
        event.key = Some("k".repeat(1000));
        for number in 0..10 {
            event.headers.insert(&format!("x-{number}"), "v".repeat(5000)).unwrap();
        }
        assert!(short > 0 && held_bytes(&event) > short + 51_000);
    }
}
