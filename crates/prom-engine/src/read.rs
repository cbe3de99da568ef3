//! Reading a topic directly: by offset, and the latest event of keys.
//!
//! Everything that reads events for a reader of its own ([`Bus::read`], [`Bus::read_topic`], a tail)
//! comes through [`Core::read_page`].

use std::sync::Arc;

use prom_store::{Bounds, Damage, LogName, ReadLimit};
use prom_types::{Invalid, Offset, partition_of};

use crate::bus::Core;
use crate::event::EventOrigin;
use crate::{Bus, Error, StoredEvent};

/// Events read from one partition.
#[derive(Debug)]
pub struct Page {
    /// In offset order; offsets may have holes.
    pub events: Vec<StoredEvent>,
    /// Where the next page begins.
    pub next: Offset,
    /// Where the partition begins and ends.
    pub bounds: Bounds,
    /// Offsets before `next` that exist and cannot be read.
    pub damage: Option<Damage>,
}

impl Core {
    /// Events of one log at or after `from`.
    pub async fn read_page(&self, origin: &Arc<EventOrigin>, from: Offset, limit: ReadLimit) -> Result<Page, Error> {
        let batch = self.store.read(&origin.log, from, limit).await?;
        let event = |record| StoredEvent::new(origin.clone(), record);
        Ok(Page {
            events: batch.records.into_iter().map(event).collect(),
            next: batch.next,
            bounds: batch.bounds,
            damage: batch.damage,
        })
    }
}

impl Bus {
    /// Events of one partition at or after `from`: at most `limit` of them, or within a [`ReadLimit`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), prom_engine::Error> {
    /// # let store = std::sync::Arc::new(prom_store::MemoryStore::new(std::sync::Arc::new(prom_store::SystemClock::new())));
    /// # let bus = prom_engine::Bus::start(store, Default::default()).await?;
    /// bus.publish("orders.placed", serde_json::json!(7)).await?;
    /// let page = bus.read("orders.placed", 0, 0, 100).await?;
    /// assert_eq!(page.events[0].payload::<u32>()?, 7);
    /// assert_eq!(page.next, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: Offset,
        limit: impl Into<ReadLimit>,
    ) -> Result<Page, Error> {
        let log = self.log(topic, partition).await?;
        self.core().read_page(&EventOrigin::plain(log), from, limit.into()).await
    }

    /// The latest event of each key of a topic that is compacted or keeps versions, in the order of `keys`; `None` where
    /// there is none, it was deleted, or retention took it. Scans nothing.
    pub async fn latest_by_key(&self, topic: &str, keys: &[&str]) -> Result<Vec<Option<StoredEvent>>, Error> {
        let topic = self.core().topics.require(&**self.store(), topic).await?;
        let mut found = vec![None; keys.len()];
        for log in topic.logs() {
            let here = |key: &str| partition_of(key, topic.settings.partitions) == log.partition;
            let places: Vec<usize> = (0..keys.len()).filter(|&at| here(keys[at])).collect();
            if places.is_empty() {
                continue;
            }
            let wanted: Vec<&str> = places.iter().map(|&at| keys[at]).collect();
            let records = self.core().store.latest_by_key(log, &wanted).await?;
            let origin = EventOrigin::plain(log.clone());
            for (at, record) in places.into_iter().zip(records) {
                found[at] = record.map(|record| StoredEvent::new(origin.clone(), record));
            }
        }
        Ok(found)
    }

    /// Where each partition of a topic begins and ends, in their order.
    pub async fn bounds(&self, topic: &str) -> Result<Vec<Bounds>, Error> {
        let topic = self.core().topics.require(&**self.store(), topic).await?;
        let mut bounds = Vec::with_capacity(topic.logs().len());
        for log in topic.logs() {
            bounds.push(self.store().bounds(log).await?);
        }
        Ok(bounds)
    }

    pub(crate) async fn log(&self, topic: &str, partition: u32) -> Result<LogName, Error> {
        let topic = self.core().topics.require(&**self.store(), topic).await?;
        let none = || Invalid::Partition { partition, partitions: topic.settings.partitions };
        Ok(topic.log(partition).cloned().ok_or_else(none)?)
    }
}
