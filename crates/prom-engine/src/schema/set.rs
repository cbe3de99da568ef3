//! Changing how schemas are judged, and the upcasters between versions.

use prom_schema::{SchemaSettings, SettingsChange, Upcaster};
use prom_store::{DocumentWrite, Expect};
use prom_types::TopicName;

use super::learn::{StoredEntry, parse};
use super::register::{stopped, to_json, writable};
use super::{REGISTRY, SETTINGS};
use crate::filter::Lane;
use crate::limits::CONTENTION_TRIES;
use crate::{Bus, Error, audit};

/// What becomes of settings that a change does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Stays,
    Inherited,
}

impl Bus {
    /// Changes the settings of a topic; without one, those of every topic that says nothing else. What the change does not
    /// name stays. Answers with what holds now.
    pub async fn set_schema_settings(
        &self,
        topic: Option<&str>,
        change: SettingsChange,
    ) -> Result<SchemaSettings, Error> {
        if change.unversioned_as == Some(0) {
            let reason = "versions are numbered from 1";
            return Err(Error::BadOption { option: "unversioned_as", asked: "0".to_owned(), reason });
        }
        match topic {
            Some(topic) => self.change_topic_settings(&writable(topic)?, change, Rest::Stays).await,
            None => self.change_defaults(change, Rest::Stays).await,
        }
    }

    /// Lets a topic inherit all settings again.
    pub async fn clear_schema_settings(&self, topic: &str) -> Result<SchemaSettings, Error> {
        self.change_topic_settings(&writable(topic)?, SettingsChange::default(), Rest::Inherited).await
    }

    /// Lets the hub's configuration hold for every topic that says nothing else.
    pub async fn clear_registry_settings(&self) -> Result<SchemaSettings, Error> {
        self.change_defaults(SettingsChange::default(), Rest::Inherited).await
    }

    /// Sets the program from a version to the next, or takes it away. A version that only an upcaster leads to keeps it.
    pub async fn set_upcaster(&self, topic: &str, from: u32, program: Option<String>) -> Result<(), Error> {
        let topic = writable(topic)?;
        let refuse = |reason: String| Err(Error::SchemaChange { topic: topic.clone(), reason });
        if let Some(program) = program.clone() {
            match self.core().filter_places.run_in(Lane::Background, move || Upcaster::jq(&program)).await {
                Some(Ok(_)) => {}
                Some(Err(error)) => return refuse(format!("the upcaster is not valid jq: {error}")),
                None => return Err(stopped()),
            }
        }
        let Some(to) = from.checked_add(1).filter(|_| from > 0) else {
            return refuse(format!("it has no version {from}"));
        };
        for _ in 0..CONTENTION_TRIES {
            let StoredEntry { mut entry, revision } = self.core().schema_loader().entry(&topic).await?;
            let Some(target) = entry.version(to) else {
                return refuse(format!("it has no version {to}"));
            };
            match &program {
                Some(program) => {
                    entry.upcasters.insert(from, program.clone());
                }
                None if target.backward || target.deleted => {
                    entry.upcasters.remove(&from);
                }
                None => {
                    return refuse(format!(
                        "version {to} cannot be read from version {from} without its upcaster; replace it instead"
                    ));
                }
            }
            let mut work = self.unit_of_work();
            audit::schema_changed("set_upcaster", &topic, Some(from), self.subject())?.add_to(&mut work)?;
            match self.put_schemas(StoredEntry { entry, revision }, None, work).await {
                Err(Error::Conflict { .. }) => {}
                answer => return answer,
            }
        }
        Err(Error::Contended { what: format!("the schemas of {topic}") })
    }

    async fn change_topic_settings(
        &self,
        topic: &TopicName,
        change: SettingsChange,
        rest: Rest,
    ) -> Result<SchemaSettings, Error> {
        let core = self.core();
        for _ in 0..CONTENTION_TRIES {
            let StoredEntry { mut entry, revision } = core.schema_loader().entry(topic).await?;
            entry.settings = match rest {
                Rest::Stays => entry.settings.and(&change),
                Rest::Inherited => change,
            };
            let settings = core.schemas.settings_of(&entry);
            let mut work = self.unit_of_work();
            audit::schema_changed("set_schema_settings", topic, None, self.subject())?.add_to(&mut work)?;
            match self.put_schemas(StoredEntry { entry, revision }, None, work).await {
                Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(settings),
            }
        }
        Err(Error::Contended { what: format!("the schemas of {topic}") })
    }

    async fn change_defaults(&self, change: SettingsChange, rest: Rest) -> Result<SchemaSettings, Error> {
        let core = self.core();
        for _ in 0..CONTENTION_TRIES {
            let stored = self.store().document(REGISTRY, SETTINGS).await?;
            let revision = stored.as_ref().map_or(0, |stored| stored.revision);
            let before: SettingsChange =
                stored.map_or_else(|| Ok(core.schemas.change()), |stored| parse(REGISTRY, &stored))?;
            let after = match rest {
                Rest::Stays => before.and(&change),
                Rest::Inherited => change,
            };
            let mut work = self.unit_of_work();
            audit::registry_changed(self.subject())?.add_to(&mut work)?;
            let text = to_json(REGISTRY, SETTINGS, &after)?;
            work.write(DocumentWrite::put(REGISTRY, SETTINGS, text).expecting(Expect::Revision(revision)));
            match work.commit().await {
                Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(error),
                Ok(_) => {
                    core.schemas.set_change(after);
                    core.schema_loader().compile_again().await?;
                    return Ok(core.schemas.defaults());
                }
            }
        }
        Err(Error::Contended { what: "the settings of the schema registry".to_owned() })
    }
}
