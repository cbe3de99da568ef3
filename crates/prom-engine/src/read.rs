//! Reading a topic directly: by offset, and the latest event of keys.

use prom_store::{Bounds, Damage, LogName, ReadLimit};
use prom_types::{Invalid, Offset, partition_of};

use crate::event::Origin;
use crate::{Bus, Error, StoredEvent};

/// Events read from one partition.
#[derive(Debug)]
pub struct Page {
    /// In offset order; offsets may have holes.
    pub events: Vec<StoredEvent>,
    /// Where to go on.
    pub next: Offset,
    pub bounds: Bounds,
    /// Offsets before `next` that exist and cannot be read.
    pub damage: Option<Damage>,
}

impl Bus {
    /// Events of one partition at or after `from`, at most `limit` of them.
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
    pub async fn read(&self, topic: &str, partition: u32, from: Offset, limit: usize) -> Result<Page, Error> {
        let log = self.log(topic, partition).await?;
        let limit = ReadLimit { events: limit, ..ReadLimit::default() };
        let batch = self.core().store.read(&log, from, limit).await?;
        let origin = Origin::plain(log);
        let event = |record| StoredEvent::new(origin.clone(), record);
        Ok(Page {
            events: batch.records.into_iter().map(event).collect(),
            next: batch.next,
            bounds: batch.bounds,
            damage: batch.damage,
        })
    }

    /// The latest event of each key of a compacted topic, in the order of `keys`; `None` where there
    /// is none or it was deleted. Scans nothing.
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
            let origin = Origin::plain(log.clone());
            for (at, record) in places.into_iter().zip(records) {
                found[at] = record.map(|record| StoredEvent::new(origin.clone(), record));
            }
        }
        Ok(found)
    }

    pub(crate) async fn log(&self, topic: &str, partition: u32) -> Result<LogName, Error> {
        let topic = self.core().topics.require(&**self.store(), topic).await?;
        let none = || Invalid::Partition { partition, partitions: topic.settings.partitions };
        Ok(topic.log(partition).cloned().ok_or_else(none)?)
    }
}
