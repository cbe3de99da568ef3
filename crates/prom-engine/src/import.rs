//! Importing: events that keep the places they had in another hub.
//!
//! ```text
//!   exported   0 1 2 . . 5 6 . 8          (retention and compaction left holes)
//!   runs      └─────┘   └───┘ └─┘         each one commit, handed over in their order
//!   stored     0 1 2 . . 5 6 . 8
//! ```
//!
//! Promises: an event is stored at its offset and with its `stored_ts`, or not at all. One whose place is taken is refused
//! with [`Error::Unmet`], and one of a partition that the topic does not have as [`Invalid::Partition`]; the caller decides
//! whether to publish it behind the others. Ids are not compared: the same id may have been stored twice, after the dedupe
//! window. A topic's dual write makes no copies: these are in the export of the other topic.

use prom_store::LogName;
use prom_types::{EpochMs, Invalid, NewEvent, Offset, Receipt};

use crate::admit::TopicSlot;
use crate::commit::{PendingUnit, UnitOfWork};
use crate::schema::Judgement;
use crate::{Bus, Error};

/// An event, and where and when it was stored elsewhere.
#[derive(Debug, Clone)]
pub struct PlacedEvent {
    /// Its partition is the one that `event` names, or 0.
    pub event: NewEvent,
    /// Where it was.
    pub offset: Offset,
    /// When it was stored; now, if not said.
    pub stored_ts: Option<EpochMs>,
}

/// Events without a hole between them, on their way into one commit.
struct Run {
    work: UnitOfWork,
    log: LogName,
    next: Offset,
    /// Their places among the events that were given.
    events: Vec<usize>,
}

impl Bus {
    /// Stores events at the offsets that they had elsewhere, also with holes between them. Results in their order.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), prom_engine::Error> {
    /// # let store = std::sync::Arc::new(prom_store::MemoryStore::new(std::sync::Arc::new(prom_store::SystemClock::new())));
    /// # let bus = prom_engine::Bus::start(store, Default::default()).await?;
    /// use prom_engine::PlacedEvent;
    /// use prom_types::{NewEvent, TopicName};
    /// use serde_json::json;
    ///
    /// let event = NewEvent::new(TopicName::parse("orders.placed")?, json!({"id": 7}));
    /// let results = bus.import(vec![PlacedEvent { event, offset: 41, stored_ts: Some(1_700_000_000_000) }]).await;
    /// assert_eq!(results[0].as_ref().unwrap().offset, 41);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn import(&self, events: Vec<PlacedEvent>) -> Vec<Result<Receipt, Error>> {
        let mut results: Vec<Option<Result<Receipt, Error>>> = Vec::new();
        results.resize_with(events.len(), || None);
        let mut under_way: Vec<(Vec<usize>, PendingUnit)> = Vec::new();
        let mut run: Option<Run> = None;
        for (index, placed) in events.into_iter().enumerate() {
            let added = self.add_to_run(&mut run, &mut under_way, index, placed).await;
            results[index] = added.err().map(Err);
        }
        under_way.extend(run.map(Run::send));
        for (events, pending) in under_way {
            match pending.await.map_err(Error::publish) {
                Ok(durable) => {
                    for (index, receipt) in events.into_iter().zip(durable.receipts()) {
                        results[index] = Some(Ok(receipt));
                    }
                }
                Err(error) => events.into_iter().for_each(|index| results[index] = Some(Err(error.again_published()))),
            }
        }
        results.into_iter().map(|result| result.unwrap_or(Err(Error::Closed))).collect()
    }

    async fn add_to_run(
        &self,
        run: &mut Option<Run>,
        under_way: &mut Vec<(Vec<usize>, PendingUnit)>,
        index: usize,
        placed: PlacedEvent,
    ) -> Result<(), Error> {
        let PlacedEvent { event, offset, stored_ts } = placed;
        let core = self.core();
        let slot = self.slot_for_import(&event).await?;
        core.check(&slot, &event, self.maker())?;
        let (event, judgement) = match self.must_wait(&event) {
            true => (core.judge(event).await?, Judgement::Done),
            false => (event, Judgement::Due),
        };
        let log = LogName::new(event.topic.clone(), event.partition.unwrap_or(0));
        let fits = |run: &Run| run.log == log && run.next == offset;
        if let Some(over) = run.take_if(|run| !fits(run)) {
            under_way.push(over.send());
        }
        let run = run.get_or_insert_with(|| {
            let mut work = core.unit_of_work_for(self.maker());
            work.place(log.clone(), offset);
            Run { work, log, next: offset, events: Vec::new() }
        });
        run.work.publish_placed(slot, &event, judgement, stored_ts)?;
        run.next = offset + 1;
        run.events.push(index);
        Ok(())
    }

    /// The topic is there, so that nothing has to be admitted again as a topic turns out to be another.
    async fn slot_for_import(&self, event: &NewEvent) -> Result<TopicSlot, Error> {
        let core = self.core();
        let mut slot = core.slot_for_publish(&event.topic)?;
        if !matches!(slot, TopicSlot::Topic(_)) && core.topics.others_write() {
            core.topics.learn(&*core.store, &event.topic).await?;
            slot = core.slot_for_publish(&event.topic)?;
        }
        if let TopicSlot::New(settings) = &slot {
            core.check(&slot, event, self.maker())?;
            self.create_topic(settings.clone()).await?;
            slot = core.slot_for_publish(&event.topic)?;
        }
        match &slot {
            TopicSlot::Topic(topic) => {
                let (partition, partitions) = (event.partition.unwrap_or(0), topic.settings.partitions);
                if partition >= partitions {
                    return Err(Invalid::Partition { partition, partitions }.into());
                }
                Ok(slot)
            }
            _ => Err(Error::UnknownTopic { topic: event.topic.clone() }),
        }
    }
}

impl Run {
    fn send(self) -> (Vec<usize>, PendingUnit) {
        (self.events, self.work.send())
    }
}
