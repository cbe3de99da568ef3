//! Looking at the registry.

use std::sync::Arc;

use prom_schema::{SchemaDocument, SchemaSettings, TopicSchemas, VersionEntry};
use prom_types::{EpochMs, TopicName};

use super::learn::{id_key, parse};
use super::{COLLECTION, TEXTS};
use crate::dual_write::versioned;
use crate::limits::DOCUMENTS_AT_ONCE;
use crate::{Bus, Error};

/// Which version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaChoice {
    /// The latest that is not deleted.
    Latest,
    /// This one, also if it is deleted.
    Version(u32),
}

/// One version of a topic's schema.
#[derive(Debug, Clone)]
pub struct SchemaVersion {
    /// The topic.
    pub topic: TopicName,
    /// Its number.
    pub version: u32,
    /// Of the schema, the same in every topic that has it.
    pub id: u32,
    /// The schema.
    pub document: Arc<SchemaDocument>,
    /// When it was registered.
    pub registered_ts: EpochMs,
    /// By whom, as far as that is known.
    pub registered_by: Option<String>,
    /// Not offered any more.
    pub deleted: bool,
}

/// A schema and where it is used.
#[derive(Debug, Clone)]
pub struct SchemaById {
    /// Its id.
    pub id: u32,
    /// The schema.
    pub document: SchemaDocument,
    /// Topics and versions that have it, deleted ones left out.
    pub uses: Vec<(TopicName, u32)>,
}

impl Bus {
    /// Every topic with something registered, by name.
    pub async fn schemas(&self) -> Result<Vec<TopicSchemas>, Error> {
        self.schemas_where(|_| true).await
    }

    /// As [`Bus::schemas`], of those alone that are wanted. The rest is let go of page by page.
    pub async fn schemas_where(
        &self,
        mut is_wanted: impl FnMut(&TopicSchemas) -> bool + Send,
    ) -> Result<Vec<TopicSchemas>, Error> {
        let mut topics = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store().documents(COLLECTION, after.as_deref(), DOCUMENTS_AT_ONCE).await?;
            let Some(last) = page.last() else {
                return Ok(topics);
            };
            after = Some(last.key.clone());
            for document in &page {
                let entry = parse(COLLECTION, document)?;
                if is_wanted(&entry) {
                    topics.push(entry);
                }
            }
        }
    }

    /// What is registered for a topic.
    pub async fn schema(&self, topic: &str) -> Result<Option<TopicSchemas>, Error> {
        let topic = TopicName::parse(topic)?;
        let stored = self.core().schema_loader().entry(&topic).await?;
        Ok((stored.revision > 0).then_some(stored.entry))
    }

    /// The latest version of a topic, as far as this process knows; reads nothing.
    pub fn latest_schema_version(&self, topic: &str) -> Option<u32> {
        let slot = self.core().schemas.known_slot(topic)?;
        slot.registered()?.entry.latest().map(|latest| latest.version)
    }

    /// The topics that copies of its events go to when they are written twice, one for each version, as far as this process
    /// knows; reads nothing.
    pub fn versioned_topics(&self, topic: &TopicName) -> Result<Vec<TopicName>, Error> {
        let slot = self.core().schemas.known_slot(topic);
        let Some(registered) = slot.and_then(|slot| slot.registered()) else {
            return Ok(Vec::new());
        };
        registered.entry.live().map(|live| versioned(topic, live.version)).collect()
    }

    /// What holds for a topic; without one, for every topic that says nothing else.
    pub async fn schema_settings(&self, topic: Option<&str>) -> Result<SchemaSettings, Error> {
        let core = self.core();
        match topic {
            None => Ok(core.schemas.defaults()),
            Some(topic) => {
                let stored = core.schema_loader().entry(&TopicName::parse(topic)?).await?;
                Ok(core.schemas.settings_of(&stored.entry))
            }
        }
    }

    /// One version with its schema.
    pub async fn schema_version(&self, topic: &str, choice: SchemaChoice) -> Result<SchemaVersion, Error> {
        let topic = TopicName::parse(topic)?;
        let entry = self.core().schema_loader().entry(&topic).await?.entry;
        let found = match choice {
            SchemaChoice::Latest => entry.latest(),
            SchemaChoice::Version(version) => entry.version(version),
        };
        let Some(found) = found else {
            let version = if let SchemaChoice::Version(version) = choice { Some(version) } else { None };
            return Err(Error::UnknownSchema { topic, version });
        };
        self.version_of(&topic, found).await
    }

    /// The version of a topic that has this very schema, if one has.
    pub async fn schema_lookup(&self, topic: &str, document: &SchemaDocument) -> Result<Option<SchemaVersion>, Error> {
        let topic = TopicName::parse(topic)?;
        let entry = self.core().schema_loader().entry(&topic).await?.entry;
        match self.core().find_same(&entry, document).await? {
            Some(found) => self.version_of(&topic, found).await.map(Some),
            None => Ok(None),
        }
    }

    /// The schema with an id.
    pub async fn schema_by_id(&self, id: u32) -> Result<SchemaById, Error> {
        let Some(document) = self.store().document(TEXTS, &id_key(id)).await? else {
            return Err(Error::UnknownSchemaId { id });
        };
        let mut uses = Vec::new();
        for entry in self.schemas_where(|entry| entry.live().any(|version| version.id == id)).await? {
            let of_it = entry.live().filter(|version| version.id == id);
            uses.extend(of_it.map(|version| (entry.topic.clone(), version.version)));
        }
        Ok(SchemaById { id, document: parse(TEXTS, &document)?, uses })
    }

    async fn version_of(&self, topic: &TopicName, entry: &VersionEntry) -> Result<SchemaVersion, Error> {
        let document = self.core().schema_loader().text(entry.id).await?;
        Ok(SchemaVersion {
            topic: topic.clone(),
            version: entry.version,
            id: entry.id,
            document: Arc::new(document),
            registered_ts: entry.registered_ts,
            registered_by: entry.registered_by.clone(),
            deleted: entry.deleted,
        })
    }
}
