//! The settings of a topic, as they are declared and as they are stored.

use std::time::Duration;

use prom_store::{Document, LogOptions};
use prom_transform::{Program, ProgramLimits};
use prom_types::{Compaction, Invalid, Retention, SnapshotSettings, TopicName, limits};
use serde::{Deserialize, Serialize};

use super::{COLLECTION, KeyProgram};
use crate::Error;
use crate::dual_write::DualWrite;
use crate::limits::{INDEX_BYTES, INDEXES, TOMBSTONE_GRACE};

/// What a topic is told about itself.
///
/// ```
/// # fn main() -> Result<(), prom_engine::Error> {
/// use std::time::Duration;
/// use prom_engine::TopicSettings;
///
/// let settings = TopicSettings::new("heartbeat.received")?
///     .partitions(4)
///     .retain_for(Duration::from_secs(3 * 24 * 60 * 60));
/// assert_eq!(settings.partitions, 4);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicSettings {
    /// Its name.
    pub name: TopicName,
    /// Events of one key stay in one partition and in order.
    pub partitions: u32,
    /// A jq program over the event that makes its key where the publisher gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How long events stay.
    #[serde(default)]
    pub retention: Retention,
    /// Keeps at least the latest event of each key; every event needs a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Compaction>,
    /// Keeps the newest offset of each key, so that publishers can expect it. Compaction keeps it too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub versions: bool,
    /// Failed attempts before an event goes to the dead letters, for groups that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Events go to the topic of their version as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dual_write: Option<DualWrite>,
    /// JSON pointers into the payload: what they name is hidden from readers who do not administer the topic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mask: Vec<String>,
    /// jq expressions over the event: searches for their values are answered without a scan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub index: Vec<String>,
    /// Its state is written to `<topic>.snapshot` so often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotSettings>,
    /// It holds the snapshots of this topic; only the hub publishes there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_of: Option<TopicName>,
}

impl TopicSettings {
    /// One partition, kept forever, not compacted.
    pub fn new(name: &str) -> Result<Self, Error> {
        Ok(Self::named(TopicName::parse(name)?))
    }

    pub(crate) fn named(name: TopicName) -> Self {
        Self {
            name,
            partitions: 1,
            key: None,
            retention: Retention::default(),
            compaction: None,
            versions: false,
            max_attempts: None,
            dual_write: None,
            mask: Vec::new(),
            index: Vec::new(),
            snapshot: None,
            snapshot_of: None,
        }
    }

    /// Sets the number of partitions.
    pub fn partitions(mut self, partitions: u32) -> Self {
        self.partitions = partitions;
        self
    }

    /// A jq program over the event, such as `.payload.processId`, that makes its key where the publisher
    /// gives none.
    pub fn key(mut self, program: impl Into<String>) -> Self {
        self.key = Some(program.into());
        self
    }

    /// Events go after this time.
    pub fn retain_for(mut self, age: Duration) -> Self {
        self.retention.age_ms = Some(millis(age));
        self
    }

    /// Bytes per partition, as finely as the store can tell.
    pub fn retain_bytes(mut self, size_bytes: u64) -> Self {
        self.retention.size_bytes = Some(size_bytes);
        self
    }

    /// Keeps at least the latest event of each key.
    pub fn compacted(mut self) -> Self {
        self.compaction = Some(Compaction { tombstone_grace_ms: millis(TOMBSTONE_GRACE), min_age_ms: 0 });
        self
    }

    /// Keeps the newest offset of each key, so that publishers can expect it.
    pub fn versions(mut self) -> Self {
        self.versions = true;
        self
    }

    /// Whether the newest offset of each key is kept.
    pub fn keeps_versions(&self) -> bool {
        self.versions || self.compaction.is_some()
    }

    /// Failed attempts before an event goes to the dead letters, for groups that do not say.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = Some(attempts);
        self
    }

    /// Events go to the topic of their schema's version as well, both or neither.
    pub fn dual_write(mut self, dual_write: DualWrite) -> Self {
        self.dual_write = Some(dual_write);
        self
    }

    /// Writes its state to `<topic>.snapshot` so often, if anything is new.
    pub fn snapshot_every(mut self, every: Duration) -> Self {
        self.snapshot = Some(SnapshotSettings { every_ms: millis(every) });
        self
    }

    /// Hides what these JSON pointers name in the payload, such as `/card/number`, from readers who do not administer the topic.
    pub fn mask<P: Into<String>>(mut self, pointers: impl IntoIterator<Item = P>) -> Self {
        self.mask = pointers.into_iter().map(Into::into).collect();
        self
    }

    /// Events are found by the values of these jq expressions, such as `.payload.customer`, without a scan.
    pub fn index<P: Into<String>>(mut self, expressions: impl IntoIterator<Item = P>) -> Self {
        self.index = expressions.into_iter().map(Into::into).collect();
        self
    }

    pub(crate) fn log_options(&self) -> LogOptions {
        LogOptions { compacted: self.compaction.is_some(), versions: self.versions }
    }

    /// Refuses what no topic can have.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |option, asked: u32, reason| Err(Error::BadOption { option, asked: asked.to_string(), reason });
        if let Some(program) = &self.key {
            KeyProgram::compile(&self.name, program)?;
        }
        crate::mask::check(&self.mask)?;
        self.check_index()?;
        match (self.partitions, self.max_attempts) {
            (0, _) => refuse("partitions", 0, "a topic has at least one"),
            (many, _) if many > limits::PARTITIONS => Err(Invalid::TooLarge {
                what: "number of partitions",
                size: many as usize,
                limit: limits::PARTITIONS as usize,
            }
            .into()),
            _ if self.snapshot.is_some_and(|snapshot| snapshot.every_ms < limits::SNAPSHOT_EVERY_MS) => {
                refuse("snapshot", 0, "at least a second lies between two snapshots")
            }
            (_, Some(0)) => refuse("max_attempts", 0, "the first delivery is an attempt"),
            _ => Ok(()),
        }
    }

    fn check_index(&self) -> Result<(), Error> {
        let refuse = |asked: &str, reason| {
            Err(Error::BadOption { option: "index", asked: asked.chars().take(INDEX_BYTES).collect(), reason })
        };
        if self.index.len() > INDEXES {
            return refuse(
                &format!("{} expressions", self.index.len()),
                "a topic has at most 8: each reads every event",
            );
        }
        for (at, expression) in self.index.iter().enumerate() {
            if expression.len() > INDEX_BYTES {
                return refuse(expression, "it is longer than 1024 bytes");
            }
            if self.index[..at].contains(expression) {
                return refuse(expression, "it stands there twice");
            }
            Program::compile(expression, ProgramLimits::default())?;
        }
        Ok(())
    }

    /// Whether a topic may go from these settings to `next`, as far as the settings alone can tell.
    pub(crate) fn check_change(&self, next: &Self) -> Result<(), Error> {
        let refuse = |reason| Err(Error::TopicChange { topic: self.name.clone(), reason });
        if next.snapshot_of != self.snapshot_of {
            return refuse("it holds other events than snapshots, or snapshots; delete it first");
        }
        if next.partitions < self.partitions {
            return refuse("partitions are never lowered, their events would be out of reach");
        }
        if next.partitions > self.partitions && (self.compaction.is_some() || next.compaction.is_some()) {
            return refuse("raising partitions of a compacted topic would move keys away from their latest event");
        }
        if next.partitions > self.partitions && (self.versions || next.versions) {
            return refuse("raising partitions of a topic with versions would move keys away from their newest offset");
        }
        Ok(())
    }
}

/// A topic as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TopicDocument {
    #[serde(flatten)]
    pub settings: TopicSettings,
    /// The subject that made it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
}

impl TopicDocument {
    pub fn parse(document: &Document) -> Result<Self, Error> {
        serde_json::from_slice(&document.value).map_err(|error| Error::Document {
            collection: COLLECTION,
            key: document.key.clone(),
            reason: error.to_string(),
        })
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
