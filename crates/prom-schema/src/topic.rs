//! The registry's entry of one topic: which versions it has, how they are judged, which steps lead from one to the next.
//!
//! This is the document that the store keeps. The schemas themselves are kept by their id, because several topics may
//! have the same one.

use std::collections::BTreeMap;

use prom_types::{EpochMs, TopicName};
use serde::{Deserialize, Serialize};

use crate::document::Reference;
use crate::settings::SettingsChange;

/// What is registered for a topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicSchemas {
    /// The topic.
    pub topic: TopicName,
    /// What differs from the hub's settings.
    #[serde(default)]
    pub settings: SettingsChange,
    /// By version, deleted ones included.
    #[serde(default)]
    pub versions: Vec<VersionEntry>,
    /// jq programs, by the version they begin at.
    #[serde(default)]
    pub upcasters: BTreeMap<u32, String>,
    /// Numbers are never given twice, also after the newest version was deleted.
    pub next_version: u32,
    /// The subject that registered the first of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
}

/// One version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionEntry {
    /// 1, 2, 3…
    pub version: u32,
    /// Of its schema; the same in every topic that has this schema.
    pub id: u32,
    /// When it was registered.
    pub registered_ts: EpochMs,
    /// By whom, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered_by: Option<String>,
    /// What is valid under the version before is valid under this one, so readers need no upcaster between them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub backward: bool,
    /// Not offered any more; what is stored under it can still be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// What its schema refers to, so that finding out needs no schema.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
    /// What it takes in memory when it is compiled, roughly.
    #[serde(default)]
    pub memory_bytes: usize,
}

impl TopicSchemas {
    /// Without any version.
    pub fn new(topic: TopicName) -> Self {
        Self {
            topic,
            settings: SettingsChange::default(),
            versions: Vec::new(),
            upcasters: BTreeMap::new(),
            next_version: 1,
            made_by: None,
        }
    }

    /// Versions that are not deleted.
    pub fn live(&self) -> impl DoubleEndedIterator<Item = &VersionEntry> {
        self.versions.iter().filter(|entry| !entry.deleted)
    }

    /// The latest version that is not deleted.
    pub fn latest(&self) -> Option<&VersionEntry> {
        self.live().next_back()
    }

    /// A version, also a deleted one.
    pub fn version(&self, version: u32) -> Option<&VersionEntry> {
        self.versions.iter().find(|entry| entry.version == version)
    }
}
