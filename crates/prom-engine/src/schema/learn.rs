//! Learning of schemas from the store: all of them at the start, and later those that other hubs register. Compiling them, when
//! somebody needs them.

use std::sync::Arc;
use std::time::Duration;

use prom_schema::limits::{BUNDLE_BYTES, REFERENCE_DEPTH, REFERENCES};
use prom_schema::{SchemaDocument, SettingsChange, TopicSchemas, Validator, VersionEntry};
use prom_store::{Document, DocumentNews, DocumentWatch, Store};
use prom_types::TopicName;
use serde_json::Value;

use super::compiled::{CompiledTopic, CompiledVersion, RegisteredTopic};
use super::register::stopped;
use super::slot::{SchemaSlot, SlotSchemas};
use super::{COLLECTION, REGISTRY, SETTINGS, SchemaRegistry, TEXTS};
use crate::Error;
use crate::bus::{BusPhase, Core};
use crate::filter::{FilterPlaces, Lane};
use crate::limits::{DOCUMENTS_AT_ONCE, FIRST_RETRY, LONGEST_RETRY, TOPIC_SCHEMAS_BYTES};

/// Reads what is stored, and compiles it on threads that may be kept busy.
#[derive(Clone, Copy)]
pub(crate) struct SchemaLoader<'a> {
    store: &'a dyn Store,
    registry: &'a SchemaRegistry,
    places: &'a FilterPlaces,
    lane: Lane,
}

/// What other hubs change.
pub(crate) struct SchemaNews {
    topics: DocumentWatch,
    /// The settings for all topics; also ids that are given, which concern nobody else.
    registry: DocumentWatch,
}

/// What of the registry another hub changed.
enum LearnAgain {
    Topic(DocumentNews),
    Settings,
}

/// A topic's document as it is stored now; empty, at revision 0, where there is none.
pub(super) struct StoredEntry {
    pub entry: TopicSchemas,
    pub revision: u64,
}

/// Which versions may be referred to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReferenceScope {
    /// Those that are in use.
    Live,
    /// Deleted ones too.
    All,
}

/// What a schema may still refer to. Each reference is loaded as often as it is named, also by those that it refers to, so
/// a few levels of them would multiply beyond all memory.
struct ReferencesLeft {
    scope: ReferenceScope,
    references: usize,
    bytes: usize,
    /// What it refers to itself, as it is stored now.
    referred: Vec<StoredEntry>,
}

/// A schema that was compiled.
pub(super) struct ExaminedSchema {
    pub validator: Validator,
    /// With all it refers to: one document.
    pub bundled: Value,
    /// The topics that it refers to, as they were stored.
    pub referred: Vec<StoredEntry>,
}

impl ReferencesLeft {
    fn new(scope: ReferenceScope) -> Self {
        Self { scope, references: REFERENCES, bytes: BUNDLE_BYTES, referred: Vec::new() }
    }

    fn take(&mut self, other: &SchemaDocument) -> Result<(), String> {
        let fewer = self.references.checked_sub(1);
        self.references = fewer.ok_or_else(|| format!("there are more than {REFERENCES} references in all"))?;
        let fewer = self.bytes.checked_sub(other.text().len());
        self.bytes = fewer.ok_or_else(|| format!("all that is referred to has more than {BUNDLE_BYTES} bytes"))?;
        Ok(())
    }
}

impl Core {
    /// For publishers and readers.
    pub(super) fn schema_loader(&self) -> SchemaLoader<'_> {
        SchemaLoader {
            store: &*self.store,
            registry: &self.schemas,
            places: &self.filter_places,
            lane: Lane::Compiling,
        }
    }

    /// For people who register and ask.
    pub(super) fn schema_examiner(&self) -> SchemaLoader<'_> {
        SchemaLoader { lane: Lane::Background, ..self.schema_loader() }
    }
}

impl<'a> SchemaLoader<'a> {
    /// Everything that is registered; nothing is compiled yet. What others change from then on is told by the news.
    pub async fn load(
        store: &'a dyn Store,
        registry: &'a SchemaRegistry,
        places: &'a FilterPlaces,
    ) -> Result<Option<SchemaNews>, Error> {
        // Before reading, so that nothing is missed in between.
        let (topics, all) = (store.watch_documents(COLLECTION), store.watch_documents(REGISTRY));
        let news = topics.zip(all).map(|(topics, registry)| SchemaNews { topics, registry });
        let loader = Self { store, registry, places, lane: Lane::Compiling };
        loader.learn_settings().await?;
        loader.learn_all().await?;
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

    /// Puts what a document says into the topic's slot, unless something newer is there.
    async fn learn(self, document: &Document) -> Result<(), Error> {
        let entry: TopicSchemas = parse(COLLECTION, document)?;
        self.take_over(StoredEntry { entry, revision: document.revision });
        Ok(())
    }

    pub(super) fn take_over(self, stored: StoredEntry) -> Arc<SchemaSlot> {
        let StoredEntry { entry, revision } = stored;
        self.registry.set_used();
        let slot = self.registry.slot(&entry.topic);
        let settings = self.registry.settings_of(&entry);
        slot.set_newer(RegisteredTopic { entry, settings }, revision);
        slot
    }

    pub(super) async fn entry(self, topic: &TopicName) -> Result<StoredEntry, Error> {
        match self.store.document(COLLECTION, topic).await? {
            Some(document) => Ok(StoredEntry { entry: parse(COLLECTION, &document)?, revision: document.revision }),
            None => Ok(StoredEntry { entry: TopicSchemas::new(topic.clone()), revision: 0 }),
        }
    }

    /// The schemas of a topic, compiled now where they are not in memory; `None` where it has none.
    pub(super) async fn compiled(self, topic: &str) -> Result<Option<Arc<CompiledTopic>>, Error> {
        match self.registry.known_slot(topic) {
            Some(slot) => self.compiled_in(&slot, None).await,
            None => Ok(None),
        }
    }

    /// As [`SchemaLoader::compiled`]; `fresh` is a version that was compiled already.
    pub(super) async fn compiled_in(
        self,
        slot: &SchemaSlot,
        fresh: Option<&CompiledVersion>,
    ) -> Result<Option<Arc<CompiledTopic>>, Error> {
        if let SlotSchemas::Ready(ready) = slot.load() {
            return Ok(Some(ready));
        }
        let _one_at_a_time = slot.compiling.lock().await;
        loop {
            let (registered, before) = match slot.load() {
                SlotSchemas::Unset => return Ok(None),
                SlotSchemas::Ready(ready) => return Ok(Some(ready)),
                SlotSchemas::PutAway(registered, before) => (registered, before),
            };
            let compiled = Arc::new(self.compile(registered, before.as_deref(), fresh).await?);
            // If something else was registered meanwhile, it is compiled again.
            if slot.set_compiled(&compiled) {
                self.registry.charge(&compiled);
                return Ok(Some(compiled));
            }
        }
    }

    /// Compiles the live versions, newest first, as far as they may take memory. One that cannot be used is kept with the reason:
    /// it concerns nobody but its own publishers and readers.
    async fn compile(
        self,
        registered: Arc<RegisteredTopic>,
        before: Option<&CompiledTopic>,
        fresh: Option<&CompiledVersion>,
    ) -> Result<CompiledTopic, Error> {
        let before = before.filter(|before| before.registered.settings.formats == registered.settings.formats);
        let mut room = TOPIC_SCHEMAS_BYTES;
        let mut live = Vec::new();
        for stored in registered.entry.live().rev() {
            let known = fresh.filter(|fresh| fresh.version == stored.version);
            let known = known.or_else(|| before.and_then(|before| before.live(stored.version)));
            let known = known.and_then(|known| known.validator.clone().ok());
            let validator = match known {
                Some(known) => Ok(known),
                None => self.usable(stored, registered.settings.formats).await?,
            };
            let validator = validator.and_then(|validator| {
                room = room.checked_sub(validator.memory_bytes()).ok_or_else(too_many)?;
                Ok(validator)
            });
            if let Err(reason) = &validator {
                let (topic, version) = (&registered.entry.topic, stored.version);
                tracing::error!(%topic, version, reason, "a version of a schema cannot be used; it accepts nothing");
            }
            let validator = validator.map_err(Arc::from);
            live.push(CompiledVersion { version: stored.version, validator });
        }
        live.reverse();
        self.finish(registered, live).await
    }

    /// With its upcasters.
    pub(super) async fn finish(
        self,
        registered: Arc<RegisteredTopic>,
        live: Vec<CompiledVersion>,
    ) -> Result<CompiledTopic, Error> {
        let functions = self.registry.functions_of(&registered.entry.topic);
        let compile = move || CompiledTopic::new(registered, live, &functions);
        self.places.run_in(self.lane, compile).await.ok_or_else(stopped)
    }

    /// A stored version, or why it cannot be used. Only what is not the schema's own fault is an error.
    pub(super) async fn usable(
        self,
        stored: &VersionEntry,
        formats: prom_schema::Formats,
    ) -> Result<Result<Arc<Validator>, String>, Error> {
        let validator = async {
            let document = Arc::new(self.text(stored.id).await?);
            self.compiled_as(&document, formats, ReferenceScope::All).await
        };
        match validator.await {
            Ok(examined) => Ok(Ok(Arc::new(examined.validator))),
            Err(error @ (Error::Schema(_) | Error::SchemaChange { .. } | Error::Document { .. })) => {
                Ok(Err(error.to_string()))
            }
            Err(error) => Err(error),
        }
    }

    /// Settings of the whole registry changed: topics that inherit them go by the new ones.
    pub(super) async fn compile_again(self) -> Result<(), Error> {
        for (topic, slot) in self.registry.all_slots() {
            if slot.registered().is_some() {
                self.take_over(self.entry(&topic).await?);
            }
        }
        Ok(())
    }

    /// The schema of an id with all it refers to: one document.
    pub(super) async fn bundled(self, id: u32) -> Result<Value, Error> {
        let document = self.text(id).await?;
        let mut left = ReferencesLeft::new(ReferenceScope::All);
        let referenced = self.referenced(&document, REFERENCE_DEPTH, &mut left).await?;
        Ok(prom_schema::bundle(&document, &referenced))
    }

    /// Compiles a schema with all it refers to, which is in use.
    pub(super) async fn examine(
        self,
        document: &Arc<SchemaDocument>,
        formats: prom_schema::Formats,
    ) -> Result<ExaminedSchema, Error> {
        self.compiled_as(document, formats, ReferenceScope::Live).await
    }

    async fn compiled_as(
        self,
        document: &Arc<SchemaDocument>,
        formats: prom_schema::Formats,
        scope: ReferenceScope,
    ) -> Result<ExaminedSchema, Error> {
        let mut left = ReferencesLeft::new(scope);
        let referenced = self.referenced(document, REFERENCE_DEPTH, &mut left).await?;
        let document = document.clone();
        let compile = move || {
            let validator = Validator::compile(&document, &referenced, formats)?;
            Ok((validator, prom_schema::bundle(&document, &referenced)))
        };
        let compiled = self.places.run_in(self.lane, compile).await.ok_or_else(stopped)?;
        let (validator, bundled) = compiled.map_err(Error::Schema)?;
        Ok(ExaminedSchema { validator, bundled, referred: left.referred })
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
            let refuse = |reason| Err(Error::SchemaChange { topic: reference.subject.clone(), reason });
            if depth == 0 {
                return refuse("its references are nested too deeply".to_owned());
            }
            let stored = self.entry(&reference.subject).await?;
            let is_meant = |version: &&VersionEntry| !version.deleted || left.scope == ReferenceScope::All;
            let Some(version) = stored.entry.version(reference.version).filter(is_meant) else {
                return refuse(format!(
                    "reference `{}` names version {}, which is not registered",
                    reference.name, reference.version
                ));
            };
            let other = self.text(version.id).await?;
            if let Err(reason) = left.take(&other) {
                return refuse(reason);
            }
            let below = Box::pin(self.referenced(&other, depth - 1, left)).await?;
            if depth == REFERENCE_DEPTH {
                left.referred.push(stored);
            }
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

/// The last versions that fit are used, and older ones are not.
fn too_many() -> String {
    format!("the newer versions of this topic take {TOPIC_SCHEMAS_BYTES} bytes in memory already; delete some of them")
}

/// Takes in what others register, until the bus stops.
pub(crate) async fn follow_others(core: &Core, news: &mut SchemaNews) {
    let mut phase = core.watch_phase();
    while *phase.borrow_and_update() == BusPhase::Open {
        let told = tokio::select! {
            told = news.topics.next() => told.map(|told| Some(LearnAgain::Topic(told))),
            told = news.registry.next() => told.map(|told| concerns_settings(&told).then_some(LearnAgain::Settings)),
            _ = phase.changed() => continue,
        };
        match told {
            Ok(Some(told)) => take_in(core, told).await,
            Ok(None) => {}
            Err(_) => return,
        }
    }
}

fn concerns_settings(news: &DocumentNews) -> bool {
    match news {
        DocumentNews::Written(document) => document.key == SETTINGS,
        DocumentNews::Deleted(key) => key == SETTINGS,
        DocumentNews::Any => true,
    }
}

/// Tries for as long as it takes: a hub that misses a version would refuse what others accept.
async fn take_in(core: &Core, mut told: LearnAgain) {
    let mut phase = core.watch_phase();
    let mut pause: Duration = FIRST_RETRY;
    while *phase.borrow_and_update() == BusPhase::Open {
        let loader = core.schema_loader();
        let read = async {
            loader.learn_settings().await?;
            match &told {
                LearnAgain::Settings => loader.compile_again().await,
                LearnAgain::Topic(DocumentNews::Written(document)) => loader.learn(document).await,
                LearnAgain::Topic(DocumentNews::Any) => loader.learn_all().await,
                LearnAgain::Topic(DocumentNews::Deleted(topic)) => {
                    if let Some(slot) = core.schemas.known_slot(topic) {
                        slot.clear();
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
        if let LearnAgain::Topic(news) = &mut told {
            *news = DocumentNews::Any;
        }
    }
}
