//! Making topics, changing them, listing them.

use hashbrown::HashMap;
use prom_store::{Bounds, LogName};

use super::division::is_about_a_division;
use super::{COLLECTION, RefusedFor, Topic, TopicDocument, TopicSettings};
use crate::commit::NotCommitted;
use crate::limits::{CONTENTION_TRIES, DOCUMENTS_AT_ONCE};
use crate::supervise::TaskName;
use crate::{Bus, Error, audit};

/// A topic as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicInfo {
    /// How it is set.
    pub settings: TopicSettings,
    /// Its partitions, in their order.
    pub partitions: Vec<PartitionInfo>,
}

/// One partition of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionInfo {
    /// Its number.
    pub partition: u32,
    /// Where it begins and ends.
    pub bounds: Bounds,
    /// Bytes its events take, as far as the store knows without looking.
    pub bytes: u64,
}

impl Bus {
    /// Makes a topic, or brings one that exists to these settings.
    ///
    /// Refused is what would break what readers rely on: lowering partitions, raising them on a
    /// compacted topic, one with versions or one that a group divides, turning compaction on where events without a key may
    /// be. Raising partitions moves keys: events of a key from before and after may be in two of them.
    /// Changes are written to the audit trail.
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
        self.core().check_open()?;
        settings.check()?;
        // In a task of its own: it also ends in order when the caller does not wait for it.
        let bus = self.clone();
        let task = TaskName::one("topic maker", &settings.name);
        let made = tokio::spawn(async move { bus.task_failures().watch(&task, bus.make_topic(settings)).await });
        match made.await {
            Ok(Ok(made)) => made,
            Ok(Err(panicked)) => Err(Error::NotReady { reason: panicked.reason }),
            Err(_) => Err(Error::Closed),
        }
    }

    /// Checks against what is there and writes only if that is still so, again while others are faster.
    async fn make_topic(&self, settings: TopicSettings) -> Result<(), Error> {
        let core = self.core();
        for _ in 0..CONTENTION_TRIES {
            let before = if core.topics.others_write() {
                core.topics.learn(&*core.store, &settings.name).await?
            } else {
                core.topics.get(&settings.name)
            };
            let mut work = core.unit_of_work();
            if before.is_none() {
                core.check_room_for_topics(self.maker(), 1)?;
            }
            if let Some(before) = &before {
                if before.settings == settings && before.is_stored() {
                    return Ok(());
                }
                self.check_topic_change(before, &settings).await?;
                let raised = TopicSettings { partitions: settings.partitions, ..before.settings.clone() };
                if before.is_stored() && raised != settings {
                    audit::topic_changed(&before.settings, &settings, self.subject())?.add_to(&mut work)?;
                }
                if settings.partitions > before.settings.partitions {
                    work.write(core.division().await?);
                    self.check_not_divided(&settings.name).await?;
                    let subject = self.subject();
                    audit::partitions_raised(&before.settings, settings.partitions, subject)?.add_to(&mut work)?;
                }
            }
            let checked_at = before.as_ref().map_or(0, |before| before.revision());
            match core.topics.put(settings.clone(), self.maker(), checked_at, work).await {
                Err(refused) if is_about_a_division(&refused) => {}
                Err(NotCommitted::Refused(refusal))
                    if core.topics.learn_from(&*core.store, &refusal).await? == RefusedFor::ForATopic => {}
                answer => {
                    answer?;
                    let begins = before.is_some_and(|before| !before.settings.keeps_versions());
                    return if begins && settings.keeps_versions() {
                        self.gather_versions(&settings).await
                    } else {
                        Ok(())
                    };
                }
            }
        }
        Err(Error::Contended { what: format!("topic {}", settings.name) })
    }

    /// The newest offset of each key, of what the topic has already: until it is known, expecting one is refused.
    async fn gather_versions(&self, settings: &TopicSettings) -> Result<(), Error> {
        for partition in 0..settings.partitions {
            self.store().latest_by_key(&LogName::new(settings.name.clone(), partition), &[]).await?;
        }
        Ok(())
    }

    async fn check_topic_change(&self, before: &Topic, settings: &TopicSettings) -> Result<(), Error> {
        before.settings.check_change(settings)?;
        if before.settings.compaction.is_none() && settings.compaction.is_some() {
            for log in before.logs() {
                if self.store().bounds(log).await?.next > 0 {
                    return Err(Error::TopicChange {
                        topic: settings.name.clone(),
                        reason: "it has events, and some may be without a key; compact a new topic instead",
                    });
                }
            }
        }
        Ok(())
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
                topics.push(info(TopicDocument::parse(&document)?.settings, |log| logs.get(log).copied()));
            }
        }
    }

    /// One topic, as [`Bus::topics`] lists it.
    pub async fn topic(&self, name: &str) -> Result<TopicInfo, Error> {
        let topic = self.core().topics.require(&**self.store(), name).await?;
        let mut logs: HashMap<LogName, (Bounds, u64)> = HashMap::new();
        for info in self.store().logs().await? {
            if info.log.topic == *topic.name() {
                logs.insert(info.log, (info.bounds, info.bytes));
            }
        }
        Ok(info(topic.settings.clone(), |log| logs.get(log).copied()))
    }

    /// The settings of a topic that exists; reads nothing where it is known.
    pub async fn topic_settings(&self, name: &str) -> Result<TopicSettings, Error> {
        Ok(self.core().topics.require(&**self.store(), name).await?.settings.clone())
    }
}

fn info(settings: TopicSettings, of: impl Fn(&LogName) -> Option<(Bounds, u64)>) -> TopicInfo {
    let partition = |partition| {
        let (bounds, bytes) = of(&LogName::new(settings.name.clone(), partition)).unwrap_or_default();
        PartitionInfo { partition, bounds, bytes }
    };
    TopicInfo { partitions: (0..settings.partitions).map(partition).collect(), settings }
}
