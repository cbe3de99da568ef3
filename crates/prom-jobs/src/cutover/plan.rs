//! Where the events of a cutover go, decided before anything is stored.

use std::fmt;

use prom_engine::{Bus, Error, SchemaChoice, UnitOfWork};
use prom_types::{Invalid, TopicName};
use serde_json::json;

use super::UnfitEvent;
use crate::snapshot::snapshot_topic;
use crate::{CollectionName, JobError};

/// Where the events are asked to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CutoverTarget {
    /// To `<topic>.v<N>`.
    OfItsVersion,
    /// To this topic.
    Topic(TopicName),
    /// To documents, one for each key.
    Collection(CollectionName),
    /// To `<topic>.snapshot.v<N>`, one event for each live key.
    Snapshot,
}

/// Where the events go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CutoverPlace {
    /// To this topic.
    Topic(TopicName),
    /// To documents, one for each key.
    Collection(CollectionName),
    /// To this topic, one event for each live key.
    Snapshot(TopicName),
}

/// What a cutover would do. Nothing is stored yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutoverPlan {
    /// The topic whose history is brought over.
    pub topic: TopicName,
    /// The version that its events are brought to.
    pub version: u32,
    /// Where they go.
    pub place: CutoverPlace,
    /// Of a collection that is made by it: fields of the payload that lists can be filtered by.
    pub fields: Vec<String>,
}

impl fmt::Display for CutoverPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topic(topic) | Self::Snapshot(topic) => write!(f, "{topic}"),
            Self::Collection(name) => write!(f, "collection {}", name.as_str()),
        }
    }
}

impl CutoverPlan {
    /// Finds out what is asked for, and refuses what makes no sense.
    pub async fn make(bus: &Bus, topic: &str, target: CutoverTarget) -> Result<Self, JobError> {
        let topic = TopicName::parse(topic)?;
        let version = match bus.schema_version(&topic, SchemaChoice::Latest).await {
            Err(Error::UnknownSchema { .. }) => return Err(JobError::NoSchema { topic }),
            found => found?.version,
        };
        let place = match target {
            CutoverTarget::OfItsVersion => CutoverPlace::Topic(TopicName::parse(&format!("{topic}.v{version}"))?),
            CutoverTarget::Topic(target) => CutoverPlace::Topic(target),
            CutoverTarget::Collection(name) => CutoverPlace::Collection(name),
            CutoverTarget::Snapshot => {
                let place = snapshot_topic(&topic)?;
                CutoverPlace::Snapshot(TopicName::parse(&format!("{place}.v{version}"))?)
            }
        };
        if let CutoverPlace::Topic(target) = &place {
            if target.is_reserved() {
                return Err(Invalid::ReservedTopic { name: target.to_string() }.into());
            }
            if *target == topic {
                let reason = "it is the topic itself".to_owned();
                return Err(JobError::Target { topic, target: target.to_string(), reason });
            }
        }
        Ok(Self { topic, version, place, fields: Vec::new() })
    }

    /// Declares fields of the payload that lists of the collection can be filtered by.
    pub fn fields(mut self, fields: Vec<String>) -> Self {
        self.fields = fields;
        self
    }

    /// Tells the audit trail who began it.
    pub(super) fn audit(&self, work: &mut UnitOfWork, unfit: UnfitEvent, read_before: u64) -> Result<(), JobError> {
        let Self { topic, version, place, .. } = self;
        let details = json!({ "topic": topic.as_str(), "to": place.to_string(), "version": version,
            "unfit": unfit, "read_before": read_before });
        Ok(work.audit("cutover", details)?)
    }

    /// The key of the progress. A collection belongs to the topic that filled it first.
    pub(super) fn key(&self) -> String {
        match &self.place {
            CutoverPlace::Topic(target) | CutoverPlace::Snapshot(target) => format!("{}>{target}", self.topic),
            CutoverPlace::Collection(name) => format!("collection:{}", name.as_str()),
        }
    }

    /// Makes the target like the topic, so that events stay in their partitions.
    pub(super) async fn make_target(&self, bus: &Bus, target: &TopicName) -> Result<TargetWas, JobError> {
        let mut settings = bus.topic_settings(&self.topic).await?;
        match bus.topic_settings(target).await {
            Ok(found) if found.partitions < settings.partitions => {
                let reason = format!(
                    "it has {} partitions, and the topic has {}; raise them with `prom topics set {target} --partitions {}`",
                    found.partitions, settings.partitions, settings.partitions
                );
                Err(JobError::Target { topic: self.topic.clone(), target: target.to_string(), reason })
            }
            Ok(_) => Ok(TargetWas::There),
            Err(Error::UnknownTopic { .. }) => {
                settings.name = target.clone();
                settings.dual_write = None;
                bus.create_topic(settings).await?;
                Ok(TargetWas::Missing)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether the target existed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetWas {
    There,
    Missing,
}
