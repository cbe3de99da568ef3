//! Making topics, changing them, listing them.

use hashbrown::HashMap;
use prom_store::{Bounds, LogName};

use super::{COLLECTION, TopicSettings};
use crate::limits::DOCUMENTS_AT_ONCE;
use crate::{Bus, Error};

/// A topic as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicInfo {
    pub settings: TopicSettings,
    pub partitions: Vec<PartitionInfo>,
}

/// One partition of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionInfo {
    pub partition: u32,
    pub bounds: Bounds,
    /// Bytes its events take, as far as the store knows without looking.
    pub bytes: u64,
}

impl Bus {
    /// Makes a topic, or brings one that exists to these settings.
    ///
    /// Refused is what would break what readers rely on: lowering partitions, raising them on a
    /// compacted topic, turning compaction on where events without a key may be.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), prom_engine::Error> {
    /// # let store = std::sync::Arc::new(prom_store::MemoryStore::new(std::sync::Arc::new(prom_store::SystemClock::new())));
    /// # let bus = prom_engine::Bus::start(store, Default::default()).await?;
    /// use prom_engine::TopicSettings;
    /// use serde_json::json;
    ///
    /// bus.create_topic(TopicSettings::new("process.state")?.compacted()).await?;
    /// bus.publish("process.state", json!({"cpu": 3})).key("web:1").await?;
    /// bus.publish("process.state", json!({"cpu": 5})).key("web:1").await?;
    /// let latest = bus.latest_by_key("process.state", &["web:1"]).await?;
    /// let event = latest[0].as_ref().expect("there is one");
    /// assert_eq!(event.payload::<serde_json::Value>()?["cpu"], 5);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create_topic(&self, settings: TopicSettings) -> Result<(), Error> {
        let core = self.core();
        core.check_open()?;
        settings.check()?;
        if let Some(before) = core.topics.get(&settings.name) {
            if before.settings == settings && before.is_stored() {
                return Ok(());
            }
            before.settings.check_change(&settings)?;
            if before.settings.compaction.is_none() && settings.compaction.is_some() {
                for log in before.logs() {
                    if core.store.bounds(log).await?.next > 0 {
                        return Err(Error::TopicChange {
                            topic: settings.name,
                            reason: "it has events, and some may be without a key; compact a new topic instead",
                        });
                    }
                }
            }
        }
        // In a task of its own: it comes to its end also if whoever asked does not wait for it.
        let making = core.clone();
        let made = tokio::spawn(async move { making.topics.put(&*making.store, settings).await });
        made.await.unwrap_or(Err(Error::Closed))
    }

    /// All topics, by name.
    pub async fn topics(&self) -> Result<Vec<TopicInfo>, Error> {
        let mut logs: HashMap<LogName, (Bounds, u64)> = HashMap::new();
        for info in self.store().logs().await? {
            logs.insert(info.log, (info.bounds, info.bytes));
        }
        let mut topics = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store().documents(COLLECTION, after.as_deref(), DOCUMENTS_AT_ONCE).await?;
            let Some(last) = page.last() else {
                return Ok(topics);
            };
            after = Some(last.key.clone());
            for document in page {
                topics.push(info(TopicSettings::parse(&document)?, |log| logs.get(log).copied()));
            }
        }
    }

    /// One topic, as [`Bus::topics`] lists it.
    pub async fn topic(&self, name: &str) -> Result<TopicInfo, Error> {
        let topic = self.core().topics.require(name)?;
        let mut logs: HashMap<LogName, (Bounds, u64)> = HashMap::new();
        for info in self.store().logs().await? {
            if info.log.topic == *topic.name() {
                logs.insert(info.log, (info.bounds, info.bytes));
            }
        }
        Ok(info(topic.settings.clone(), |log| logs.get(log).copied()))
    }

    /// The settings of a topic that exists; reads nothing.
    pub fn topic_settings(&self, name: &str) -> Result<TopicSettings, Error> {
        Ok(self.core().topics.require(name)?.settings.clone())
    }
}

fn info(settings: TopicSettings, of: impl Fn(&LogName) -> Option<(Bounds, u64)>) -> TopicInfo {
    let partition = |partition| {
        let (bounds, bytes) = of(&LogName::new(settings.name.clone(), partition)).unwrap_or_default();
        PartitionInfo { partition, bounds, bytes }
    };
    TopicInfo { partitions: (0..settings.partitions).map(partition).collect(), settings }
}
