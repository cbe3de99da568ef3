//! Taking versions out of use.
//!
//! A version that was deleted softly is not offered any more: nothing new is admitted under it, and it is not compared with.
//! What is stored under it can still be read. Deleting it for good forgets it, so stored events of it cannot be upcast.

use prom_types::TopicName;

use super::learn::StoredEntry;
use super::register::writable;
use crate::limits::CONTENTION_TRIES;
use crate::{Bus, Error, audit};

/// How much is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// Not offered any more.
    Soft,
    /// Forgotten. It was deleted softly before.
    Hard,
}

impl Bus {
    /// Deletes one version.
    pub async fn delete_schema_version(&self, topic: &str, version: u32, deletion: Deletion) -> Result<(), Error> {
        let topic = writable(topic)?;
        self.delete_schemas_where(&topic, Some(version), deletion).await.map(drop)
    }

    /// Deletes all versions of a topic; answers with their numbers.
    pub async fn delete_schemas(&self, topic: &str, deletion: Deletion) -> Result<Vec<u32>, Error> {
        let topic = writable(topic)?;
        self.delete_schemas_where(&topic, None, deletion).await
    }

    async fn delete_schemas_where(
        &self,
        topic: &TopicName,
        only: Option<u32>,
        deletion: Deletion,
    ) -> Result<Vec<u32>, Error> {
        for _ in 0..CONTENTION_TRIES {
            let StoredEntry { mut entry, revision } = self.core().schema_loader().entry(topic).await?;
            let is_meant = |version: u32| only.is_none_or(|only| only == version);
            let meant: Vec<(u32, bool)> = entry
                .versions
                .iter()
                .filter(|entry| is_meant(entry.version))
                .map(|entry| (entry.version, entry.deleted))
                .collect();
            let is_due = |(_, deleted): &&(u32, bool)| *deleted == (deletion == Deletion::Hard);
            let due: Vec<u32> = meant.iter().filter(is_due).map(|(version, _)| *version).collect();
            if due.is_empty() {
                return Err(not_deletable(topic, only, &meant, deletion));
            }
            if deletion == Deletion::Hard && only.is_none() && due.len() < meant.len() {
                return Err(not_deletable(topic, only, &meant, deletion));
            }
            self.check_not_referred(topic, &due, deletion).await?;
            match deletion {
                Deletion::Soft => {
                    for version in entry.versions.iter_mut().filter(|entry| due.contains(&entry.version)) {
                        version.deleted = true;
                    }
                }
                Deletion::Hard => entry.versions.retain(|entry| !due.contains(&entry.version)),
            }
            let mut work = self.unit_of_work();
            audit::schema_changed("delete_schema", topic, only, self.subject())?.add_to(&mut work)?;
            match self.put_schemas(StoredEntry { entry, revision }, None, work).await {
                Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(due),
            }
        }
        Err(Error::Contended { what: format!("the schemas of {topic}") })
    }

    /// A version that others refer to stays; for good as long as a deleted one does, because its schema is still asked for. One
    /// that is registered from now on changes this topic's document, and then the deletion is looked at again.
    async fn check_not_referred(&self, topic: &TopicName, versions: &[u32], deletion: Deletion) -> Result<(), Error> {
        for entry in self.schemas().await? {
            for live in entry.versions.iter().filter(|version| !version.deleted || deletion == Deletion::Hard) {
                // What goes with it does not keep it.
                if entry.topic == *topic && versions.contains(&live.version) {
                    continue;
                }
                let refers = live
                    .references
                    .iter()
                    .find(|reference| reference.subject == *topic && versions.contains(&reference.version));
                if let Some(reference) = refers {
                    return Err(Error::SchemaReferred {
                        topic: topic.clone(),
                        version: reference.version,
                        by: entry.topic.clone(),
                        by_version: live.version,
                    });
                }
            }
        }
        Ok(())
    }
}

fn not_deletable(topic: &TopicName, only: Option<u32>, meant: &[(u32, bool)], deletion: Deletion) -> Error {
    let topic = topic.clone();
    match (deletion, meant.is_empty()) {
        (_, true) => Error::UnknownSchema { topic, version: only },
        (Deletion::Soft, false) => Error::UnknownSchema { topic, version: only },
        (Deletion::Hard, false) => {
            let reason = "only what was deleted softly can be deleted for good".to_owned();
            Error::SchemaChange { topic, reason }
        }
    }
}
