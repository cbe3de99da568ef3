//! Learning of schemas from the store: all of them at the start, and later those that other hubs register.

use std::sync::Arc;
use std::time::Duration;

use prom_schema::limits::REFERENCES;
use prom_schema::{SchemaDocument, SettingsChange, TopicSchemas, Validator};
use prom_store::{Document, DocumentNews, DocumentWatch, Store};
use prom_types::TopicName;
use serde_json::Value;

use super::compiled::{CompiledTopic, CompiledVersion};
use super::{COLLECTION, REGISTRY, SETTINGS, SchemaRegistry, TEXTS};
use crate::Error;
use crate::bus::{BusPhase, Core};
use crate::filter::FilterPlaces;
use crate::limits::{DOCUMENTS_AT_ONCE, FIRST_RETRY, LONGEST_RETRY};

/// References of references of references: deeper ones are a mistake.
const REFERENCE_DEPTH: usize = 16;

/// Reads what is stored and compiles it, on threads that may be kept busy.
#[derive(Clone, Copy)]
pub(crate) struct SchemaLoader<'a> {
    pub store: &'a dyn Store,
    pub registry: &'a SchemaRegistry,
    pub places: &'a FilterPlaces,
}

/// How many more schemas one schema may refer to, by itself and through others. Each is copied to where it is referred
/// to, so without this bound a few topics that refer to each other several times make a schema of any size.
struct ReferencesLeft(usize);

impl Default for ReferencesLeft {
    fn default() -> Self {
        Self(REFERENCES)
    }
}

impl ReferencesLeft {
    fn take(&mut self, subject: &TopicName) -> Result<(), Error> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| {
            let reason = format!(
                "a schema that refers to it has more than {REFERENCES} references, with those of the schemas it refers to"
            );
            Error::SchemaChange { topic: subject.clone(), reason }
        })?;
        Ok(())
    }
}

/// A topic's document as it is stored now; empty, at revision 0, where there is none.
pub(super) struct StoredEntry {
    pub entry: TopicSchemas,
    pub revision: u64,
}

impl Core {
    pub(super) fn schema_loader(&self) -> SchemaLoader<'_> {
        SchemaLoader { store: &*self.store, registry: &self.schemas, places: &self.filter_places }
    }
}

impl SchemaLoader<'_> {
    /// Everything that is registered. What others change from then on is told by the watch.
    pub async fn load(self) -> Result<Option<DocumentWatch>, Error> {
        // Before reading, so that nothing is missed in between.
        let news = self.store.watch_documents(COLLECTION);
        self.learn_settings().await?;
        self.learn_all().await?;
        Ok(news)
    }

    async fn learn_settings(self) -> Result<(), Error> {
        let Some(document) = self.store.document(REGISTRY, SETTINGS).await? else {
            return Ok(());
        };
        let change: SettingsChange = parse(REGISTRY, &document)?;
        self.registry.set_change(change);
        Ok(())
    }

    async fn learn_all(self) -> Result<(), Error> {
        let mut after: Option<String> = None;
        loop {
            let page = self.store.documents(COLLECTION, after.as_deref(), DOCUMENTS_AT_ONCE).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = Some(last.key.clone());
            for document in &page {
                self.learn(document).await?;
            }
        }
    }

    /// Compiles what a document says and puts it into the topic's slot, unless something newer is there.
    async fn learn(self, document: &Document) -> Result<(), Error> {
        let stored = StoredEntry { entry: parse(COLLECTION, document)?, revision: document.revision };
        let slot = self.registry.slot(&stored.entry.topic);
        slot.set_newer(self.compile(stored, None).await?);
        Ok(())
    }

    pub(super) async fn entry(self, topic: &TopicName) -> Result<StoredEntry, Error> {
        match self.store.document(COLLECTION, topic).await? {
            Some(document) => Ok(StoredEntry { entry: parse(COLLECTION, &document)?, revision: document.revision }),
            None => Ok(StoredEntry { entry: TopicSchemas::new(topic.clone()), revision: 0 }),
        }
    }

    /// What is compiled already is taken over; `fresh` is a version that is not stored yet.
    pub(super) async fn compile(
        self,
        stored: StoredEntry,
        fresh: Option<&CompiledVersion>,
    ) -> Result<CompiledTopic, Error> {
        let StoredEntry { entry, revision } = stored;
        let settings = self.registry.settings_of(&entry);
        let before = self.registry.slot(&entry.topic).load();
        let before = before.as_ref().filter(|before| before.settings.formats == settings.formats);
        let mut versions = Vec::with_capacity(entry.versions.len());
        for stored in &entry.versions {
            let known = fresh.filter(|fresh| fresh.version == stored.version);
            let known = known.or_else(|| before.and_then(|before| before.version(stored.version)));
            let (document, validator) = match known {
                Some(known) => (known.document.clone(), known.validator.clone()),
                None => {
                    let document = Arc::new(self.text(stored.id).await?);
                    let validator = self.validator(&document, settings.formats).await;
                    let unusable = |error: Error| broken(&entry.topic, &format!("version {}: {error}", stored.version));
                    (document, Arc::new(validator.map_err(unusable)?))
                }
            };
            versions.push(CompiledVersion {
                version: stored.version,
                deleted: stored.deleted,
                backward: stored.backward,
                document,
                validator,
            });
        }
        let (functions, topic) = (self.registry.functions_of(&entry.topic), entry.topic.clone());
        self.registry.set_used();
        let compile = move || CompiledTopic::new(entry, settings, versions, &functions, revision);
        match self.places.run(compile).await {
            Some(Ok(compiled)) => Ok(compiled),
            Some(Err(bad)) => Err(broken(&topic, &format!("upcaster from version {}: {}", bad.from, bad.reason))),
            None => Err(Error::Closed),
        }
    }

    /// Settings of the whole registry changed: topics that inherit them are compiled again.
    pub(super) async fn compile_again(self) -> Result<(), Error> {
        for (topic, slot) in self.registry.all_slots() {
            if slot.load().is_some() {
                let stored = self.entry(&topic).await?;
                slot.set_newer(self.compile(stored, None).await?);
            }
        }
        Ok(())
    }

    /// Compiles a schema with all it refers to.
    pub(super) async fn validator(
        self,
        document: &Arc<SchemaDocument>,
        formats: prom_schema::Formats,
    ) -> Result<Validator, Error> {
        let referenced = self.referenced(document, REFERENCE_DEPTH, &mut ReferencesLeft::default()).await?;
        let document = document.clone();
        let compile = move || Validator::compile(&document, &referenced, formats);
        self.places.run(compile).await.ok_or(Error::Closed)?.map_err(Error::Schema)
    }

    /// The schemas that a schema refers to, by the names it uses, each with what it refers to in turn.
    async fn referenced(
        self,
        document: &SchemaDocument,
        depth: usize,
        left: &mut ReferencesLeft,
    ) -> Result<Vec<(String, Value)>, Error> {
        let mut found = Vec::with_capacity(document.references.len());
        for reference in &document.references {
            left.take(&reference.subject)?;
            if depth == 0 {
                let reason = "its references are nested too deeply".to_owned();
                return Err(Error::SchemaChange { topic: reference.subject.clone(), reason });
            }
            let stored = self.entry(&reference.subject).await?;
            let Some(version) = stored.entry.live().find(|live| live.version == reference.version) else {
                let reason = format!(
                    "reference `{}` names version {}, which is not registered",
                    reference.name, reference.version
                );
                return Err(Error::SchemaChange { topic: reference.subject.clone(), reason });
            };
            let other = self.text(version.id).await?;
            let below = Box::pin(self.referenced(&other, depth - 1, left)).await?;
            found.push((reference.name.clone(), prom_schema::bundle(&other, &below)));
        }
        Ok(found)
    }

    /// The schema of an id.
    pub(super) async fn text(self, id: u32) -> Result<SchemaDocument, Error> {
        let key = id_key(id);
        match self.store.document(TEXTS, &key).await? {
            Some(document) => parse(TEXTS, &document),
            None => Err(Error::Document { collection: TEXTS, key, reason: "it is missing".to_owned() }),
        }
    }
}

/// Sorts as the numbers do.
pub(super) fn id_key(id: u32) -> String {
    format!("{id:010}")
}

pub(super) fn parse<T: serde::de::DeserializeOwned>(collection: &'static str, document: &Document) -> Result<T, Error> {
    serde_json::from_slice(&document.value).map_err(|error| Error::Document {
        collection,
        key: document.key.clone(),
        reason: error.to_string(),
    })
}

fn broken(topic: &TopicName, reason: &str) -> Error {
    Error::Document { collection: COLLECTION, key: topic.to_string(), reason: reason.to_owned() }
}

/// Takes in what others register, until the bus stops.
pub(crate) async fn follow_others(core: &Core, news: &mut DocumentWatch) {
    let mut phase = core.watch_phase();
    while *phase.borrow_and_update() == BusPhase::Open {
        tokio::select! {
            told = news.next() => match told {
                Ok(told) => take_in(core, told).await,
                Err(_) => return,
            },
            _ = phase.changed() => {}
        }
    }
}

/// Tries for as long as it takes: a hub that misses a version would refuse what others accept.
async fn take_in(core: &Core, mut told: DocumentNews) {
    let mut phase = core.watch_phase();
    let mut pause: Duration = FIRST_RETRY;
    while *phase.borrow_and_update() == BusPhase::Open {
        let loader = core.schema_loader();
        let read = async {
            loader.learn_settings().await?;
            match &told {
                DocumentNews::Written(document) => loader.learn(document).await,
                DocumentNews::Any => loader.learn_all().await,
                DocumentNews::Deleted(topic) => {
                    if let Some(slot) = core.schemas.known_slot(topic) {
                        slot.set(None);
                    }
                    Ok(())
                }
            }
        };
        let error = match read.await {
            Ok(()) | Err(Error::Closed) => return,
            Err(error @ Error::Document { .. }) => {
                tracing::error!(%error, "a schema of another hub is left out");
                return;
            }
            Err(error) => error,
        };
        tracing::warn!(%error, "schemas of other hubs cannot be read yet; trying again");
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = phase.changed() => {}
        }
        pause = (pause * 2).min(LONGEST_RETRY);
        told = DocumentNews::Any;
    }
}
