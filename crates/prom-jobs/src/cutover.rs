//! Cutover: a topic's history, every event as the latest version has it, in another topic.
//!
//! ```text
//!   heartbeat.received 0 … n ─▶ upcast, checked ─▶ heartbeat.received.v2      the same id, key, headers and time
//!                                                     + how far it is         in one commit
//! ```
//!
//! Each step stores its events and the progress together, so a crash at any moment leaves neither a hole nor a double, and
//! the next run goes on where the last one ended. Events keep their order within a partition. Events that were published
//! during the cutover are taken along; run it once more to take what came after its end.

use prom_engine::{Bus, Error, SchemaChoice, StoredEvent, TopicOffsets};
use prom_store::{DocumentWrite, Expect, ReadLimit};
use prom_types::{NewEvent, TopicName};
use serde::{Deserialize, Serialize};

use crate::JobError;
use crate::limits::{STEP_BYTES, STEP_EVENTS};

const COLLECTION: &str = "cutovers";

/// Where the events go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CutoverTarget {
    /// To `<topic>.v<N>`.
    OfItsVersion,
    /// To this topic.
    Topic(TopicName),
}

/// What becomes of events that cannot be brought to the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnfitEvent {
    /// The cutover stops there and says which one it is.
    Stop,
    /// They are counted and left out.
    Skip,
}

/// A cutover under way.
pub struct Cutover {
    bus: Bus,
    topic: TopicName,
    target: TopicName,
    unfit: UnfitEvent,
    progress: CutoverProgress,
    /// Of the document that holds the progress.
    revision: u64,
}

/// How far it is. This is also what is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutoverProgress {
    /// The version that events are brought to.
    pub version: u32,
    /// Where the next step reads, in each partition.
    pub next: Vec<u64>,
    /// Events read.
    pub read: u64,
    /// Events stored in the target.
    pub written: u64,
    /// Events that were left out because they cannot be brought to the version.
    pub skipped: u64,
    /// Events left to read, as far as that is known.
    #[serde(default)]
    pub left: u64,
    /// Nothing is left now.
    #[serde(default)]
    pub done: bool,
}

impl Cutover {
    /// Begins a cutover to the latest version, or goes on with one.
    pub async fn start(bus: &Bus, topic: &str, target: CutoverTarget, unfit: UnfitEvent) -> Result<Self, JobError> {
        let topic = TopicName::parse(topic)?;
        let latest = match bus.schema_version(&topic, SchemaChoice::Latest).await {
            Err(Error::UnknownSchema { .. }) => return Err(JobError::NoSchema { topic }),
            found => found?,
        };
        let target = match target {
            CutoverTarget::OfItsVersion => TopicName::parse(&format!("{topic}.v{}", latest.version))?,
            CutoverTarget::Topic(target) => target,
        };
        let stored = bus.document(COLLECTION, &key(&topic, &target)).await?;
        let revision = stored.as_ref().map_or(0, |stored| stored.revision);
        let progress = match stored {
            Some(stored) => serde_json::from_slice(&stored.value)
                .map_err(|error| JobError::Progress { reason: error.to_string() })?,
            None => CutoverProgress { version: latest.version, ..CutoverProgress::default() },
        };
        if progress.version != latest.version {
            let (running, asked) = (progress.version, latest.version);
            return Err(JobError::OtherVersion { topic, target: target.to_string(), running, asked });
        }
        make_target(bus, &topic, &target).await?;
        Ok(Self { bus: bus.clone(), topic, target, unfit, progress, revision })
    }

    /// Where the events go.
    pub fn target(&self) -> &TopicName {
        &self.target
    }

    /// How far it is.
    pub fn progress(&self) -> &CutoverProgress {
        &self.progress
    }

    /// Takes some more events over, together with the progress.
    pub async fn step(&mut self) -> Result<&CutoverProgress, JobError> {
        let limit = ReadLimit { events: STEP_EVENTS, bytes: STEP_BYTES };
        let page = self.bus.read_topic(&self.topic, TopicOffsets(self.progress.next.clone()), limit).await?;
        let ids: Vec<String> = page.events.iter().map(|event| event.id().to_string()).collect();
        let mut after = self.progress.clone();
        after.next = page.next.0;
        after.read += ids.len() as u64;
        let mut work = self.bus.unit_of_work();
        for (id, normalized) in ids.into_iter().zip(self.bus.normalize(page.events).await) {
            match (normalized, self.unfit) {
                (Ok(event), _) => {
                    work.publish(&self.moved(&event)?)?;
                    after.written += 1;
                }
                (Err(_), UnfitEvent::Skip) => after.skipped += 1,
                (Err(reason), UnfitEvent::Stop) => {
                    let (topic, version) = (self.topic.clone(), self.progress.version);
                    return Err(JobError::NotUpcast { topic, id, version, reason });
                }
            }
        }
        after.left = self.left(&after.next).await?;
        after.done = page.at_end;
        let text = serde_json::to_vec(&after).map_err(|error| JobError::Progress { reason: error.to_string() })?;
        let document = DocumentWrite::put(COLLECTION, &key(&self.topic, &self.target), text);
        work.write(document.expecting(Expect::Revision(self.revision)));
        match work.commit().await {
            Err(Error::Conflict { .. }) => {
                Err(JobError::Running { topic: self.topic.clone(), target: self.target.to_string() })
            }
            Err(error) => Err(error.into()),
            Ok(_) => {
                self.revision += 1;
                self.progress = after;
                Ok(&self.progress)
            }
        }
    }

    /// The event in the target: all it has, but for its place.
    fn moved(&self, event: &StoredEvent) -> Result<NewEvent, JobError> {
        let whole = event.to_event()?;
        Ok(NewEvent {
            id: Some(whole.id),
            exact: true,
            ts: Some(whole.ts),
            key: whole.key,
            headers: whole.headers,
            tags: whole.tags,
            caused_by: whole.caused_by,
            sid: whole.sid,
            partition: Some(whole.partition),
            ..NewEvent::new(self.target.clone(), whole.payload)
        })
    }

    async fn left(&self, next: &[u64]) -> Result<u64, JobError> {
        let bounds = self.bus.bounds(&self.topic).await?;
        let left = |(at, bounds): (usize, &prom_store::Bounds)| {
            bounds.next.saturating_sub(next.get(at).copied().unwrap_or(0).max(bounds.start))
        };
        Ok(bounds.iter().enumerate().map(left).sum())
    }
}

fn key(topic: &TopicName, target: &TopicName) -> String {
    format!("{topic}>{target}")
}

/// The target has the partitions of the topic, so that events stay where they were.
async fn make_target(bus: &Bus, topic: &TopicName, target: &TopicName) -> Result<(), JobError> {
    match bus.topic_settings(target).await {
        Ok(_) => Ok(()),
        Err(Error::UnknownTopic { .. }) => {
            let mut settings = bus.topic_settings(topic).await?;
            settings.name = target.clone();
            settings.dual_write = None;
            Ok(bus.create_topic(settings).await?)
        }
        Err(error) => Err(error.into()),
    }
}
