//! Registering a version, or asking whether it could be.

use std::sync::Arc;

use prom_schema::compat::{self, ModeCheck, Violation};
use prom_schema::{Compat, SchemaDocument, SchemaSettings, TopicSchemas, Upcaster, Validator, VersionEntry};
use prom_store::{DocumentWrite, Expect};
use prom_types::TopicName;
use serde_json::Value;

use super::compiled::CompiledVersion;
use super::learn::{ExaminedSchema, StoredEntry, id_key, parse};
use super::slot::SlotSchemas;
use super::{COLLECTION, DIGESTS, NEXT_ID, REGISTRY, TEXTS};
use crate::bus::Core;
use crate::caps::Made;
use crate::commit::UnitOfWork;
use crate::filter::Lane;
use crate::limits::{CONTENTION_TRIES, TOPIC_SCHEMAS_BYTES};
use crate::{Bus, Error, audit};

/// A version that may be registered.
#[derive(Debug, Clone)]
pub struct SchemaCandidate {
    /// The schema.
    pub document: SchemaDocument,
    /// What it must be to earlier versions, if not what the topic says.
    pub compat: Option<Compat>,
    /// The number it must get; any if not said.
    pub version: Option<u32>,
    /// A jq program from the version before to this one.
    pub upcast: Option<String>,
}

/// What registering would do.
#[derive(Debug)]
pub struct RegistrationVerdict {
    /// Why it would be refused; empty if it would not.
    pub violations: Vec<Violation>,
    /// The version that has this very schema already.
    pub existing: Option<u32>,
    /// What to think about although it is allowed.
    pub notes: Vec<String>,
}

/// A registered version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// Its number.
    pub version: u32,
    /// The id of its schema.
    pub id: u32,
    /// It was there before; nothing was stored.
    pub existed: bool,
    /// What to think about.
    pub notes: Vec<String>,
}

/// A candidate that was looked at.
pub(super) struct Examined {
    pub stored: StoredEntry,
    pub existing: Option<VersionEntry>,
    pub verdict: RegistrationVerdict,
    /// As it would be used.
    pub fresh: Option<FreshVersion>,
}

/// A version that is not stored yet.
pub(super) struct FreshVersion {
    pub version: u32,
    pub validator: Arc<Validator>,
    /// Needs no upcaster from the version before.
    pub backward: bool,
    /// The topics that it refers to, as they were stored when it was looked at.
    referred: Vec<StoredEntry>,
}

impl FreshVersion {
    pub fn compiled(&self) -> CompiledVersion {
        CompiledVersion { version: self.version, validator: Ok(self.validator.clone()) }
    }
}

impl SchemaCandidate {
    /// A schema, judged as the topic says.
    pub fn new(document: SchemaDocument) -> Self {
        Self { document, compat: None, version: None, upcast: None }
    }
}

impl Bus {
    /// Whether a version could be registered. Stores nothing.
    pub async fn check_schema(&self, topic: &str, candidate: &SchemaCandidate) -> Result<RegistrationVerdict, Error> {
        let topic = writable(topic)?;
        Ok(self.core().examine(&topic, candidate).await?.verdict)
    }

    /// Registers the next version of a topic. The very same schema again gives the version that has it. It is written
    /// to the audit trail.
    pub async fn register_schema(&self, topic: &str, candidate: SchemaCandidate) -> Result<Registered, Error> {
        let topic = writable(topic)?;
        let core = self.core();
        for _ in 0..CONTENTION_TRIES {
            let Examined { stored, existing, verdict, fresh } = core.examine(&topic, &candidate).await?;
            if let Some(VersionEntry { version, id, .. }) = existing {
                return Ok(Registered { version, id, existed: true, notes: verdict.notes });
            }
            let Some(fresh) = fresh.filter(|_| verdict.violations.is_empty()) else {
                return Err(Error::SchemaIncompatible { topic, violations: verdict.violations });
            };
            check_memory(&stored.entry, &fresh)?;
            let mut work = self.unit_of_work();
            let id = core.add_text(&candidate.document, &mut work).await?;
            let StoredEntry { mut entry, revision } = stored;
            let version = fresh.version;
            entry.versions.push(VersionEntry {
                version,
                id,
                registered_ts: core.clock.now_ms(),
                registered_by: self.subject().map(str::to_owned),
                backward: fresh.backward,
                deleted: false,
                references: candidate.document.references.clone(),
                memory_bytes: fresh.validator.memory_bytes(),
            });
            entry.next_version = version + 1;
            if let Some(program) = candidate.upcast.clone() {
                entry.upcasters.insert(version - 1, program);
            }
            hold_referred(&topic, &fresh.referred, &mut work)?;
            audit::schema_changed("register_schema", &topic, Some(version), self.subject())?.add_to(&mut work)?;
            match self.put_schemas(StoredEntry { entry, revision }, Some(&fresh.compiled()), work).await {
                Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(Registered { version, id, existed: false, notes: verdict.notes }),
            }
        }
        Err(Error::Contended { what: format!("the schemas of {topic}") })
    }

    /// Stores a topic's entry if nobody changed it since it was read, and takes it into use. `fresh` is a version that
    /// comes with it.
    pub(super) async fn put_schemas(
        &self,
        read: StoredEntry,
        fresh: Option<&CompiledVersion>,
        mut work: UnitOfWork,
    ) -> Result<(), Error> {
        let core = self.core();
        let StoredEntry { mut entry, revision } = read;
        if revision == 0 {
            core.check_room_for_schemas(&entry.topic, self.maker())?;
            entry.made_by = self.subject().map(str::to_owned);
        }
        let topic = entry.topic.clone();
        let text = to_json(COLLECTION, &topic, &entry)?;
        work.write(DocumentWrite::put(COLLECTION, &topic, text).expecting(Expect::Revision(revision)));
        work.commit().await?;
        let is_in_use = !matches!(core.schemas.slot(&topic).load(), SlotSchemas::PutAway(_, None));
        let loader = core.schema_examiner();
        let slot = loader.take_over(StoredEntry { entry, revision: revision + 1 });
        // What is in memory stays there. It is stored: what cannot be compiled now is told when it is needed.
        if is_in_use && let Err(error) = loader.compiled_in(&slot, fresh).await {
            tracing::warn!(%topic, %error, "schemas could not be made ready for use yet");
        }
        Ok(())
    }
}

/// What a version refers to stays for as long as it is stored: a caller that deletes it at the same moment is refused, or was first.
fn hold_referred(topic: &TopicName, referred: &[StoredEntry], work: &mut UnitOfWork) -> Result<(), Error> {
    let mut held = std::collections::BTreeSet::from([topic]);
    for StoredEntry { entry, revision } in referred {
        if held.insert(&entry.topic) {
            let text = to_json(COLLECTION, &entry.topic, entry)?;
            work.write(DocumentWrite::put(COLLECTION, &entry.topic, text).expecting(Expect::Revision(*revision)));
        }
    }
    Ok(())
}

/// All versions that events may have are in memory together.
fn check_memory(entry: &TopicSchemas, fresh: &FreshVersion) -> Result<(), Error> {
    let taken: usize = entry.live().map(|live| live.memory_bytes).sum();
    let size = taken + fresh.validator.memory_bytes();
    if size <= TOPIC_SCHEMAS_BYTES {
        return Ok(());
    }
    let reason = format!(
        "its versions would take {size} bytes in memory, and {TOPIC_SCHEMAS_BYTES} is the limit; delete versions that nobody \
         publishes under"
    );
    Err(Error::SchemaChange { topic: entry.topic.clone(), reason })
}

impl Core {
    /// Schemas of topics that do not exist yet cost what topics do, and count as they do.
    fn check_room_for_schemas(&self, topic: &TopicName, maker: Option<&Arc<str>>) -> Result<(), Error> {
        if self.topics.get(topic).is_some() {
            return Ok(());
        }
        let mut ahead = Made::default();
        for (topic, slot) in self.schemas.all_slots() {
            if let Some(registered) = slot.registered().filter(|_| self.topics.get(&topic).is_none()) {
                ahead.add(registered.entry.made_by.as_deref().map(Arc::from).as_ref());
            }
        }
        self.topics.check_room_beside(&self.options.caps, &ahead, maker)
    }

    /// Looks at a candidate from all sides, against what is stored now.
    pub(super) async fn examine(&self, topic: &TopicName, candidate: &SchemaCandidate) -> Result<Examined, Error> {
        let loader = self.schema_examiner();
        let stored = loader.entry(topic).await?;
        let settings = self.schemas.settings_of(&stored.entry);
        let mut verdict = RegistrationVerdict { violations: Vec::new(), existing: None, notes: Vec::new() };
        if let Some(existing) = self.find_same(&stored.entry, &candidate.document).await?.cloned() {
            verdict.existing = Some(existing.version);
            return Ok(Examined { stored, existing: Some(existing), verdict, fresh: None });
        }
        let version = stored.entry.next_version;
        check_number(topic, candidate, &stored.entry)?;
        let document = Arc::new(candidate.document.clone());
        let ExaminedSchema { validator, bundled, referred } = loader.examine(&document, settings.formats).await?;
        let program = self.check_program(topic, candidate).await?;
        let steps = Steps { stored: &stored.entry, program, functions: self.schemas.functions_of(topic) };
        let backward = self.compare(&steps, candidate, settings, bundled, &mut verdict).await?;
        let fresh = FreshVersion { version, validator: Arc::new(validator), backward, referred };
        Ok(Examined { stored, existing: None, verdict, fresh: Some(fresh) })
    }

    /// The live version that has this very schema.
    pub(super) async fn find_same<'e>(
        &self,
        entry: &'e TopicSchemas,
        document: &SchemaDocument,
    ) -> Result<Option<&'e VersionEntry>, Error> {
        let id = self.store.document(DIGESTS, &document.digest()).await?;
        let id: Option<u32> = id.map(|id| parse(DIGESTS, &id)).transpose()?;
        Ok(id.and_then(|id| entry.live().find(|version| version.id == id)))
    }

    /// The id of a schema; where it is new, its text and its id become durable with the unit.
    async fn add_text(&self, document: &SchemaDocument, work: &mut UnitOfWork) -> Result<u32, Error> {
        let digest = document.digest();
        if let Some(known) = self.store.document(DIGESTS, &digest).await? {
            return parse(DIGESTS, &known);
        }
        let next = self.store.document(REGISTRY, NEXT_ID).await?;
        let revision = next.as_ref().map_or(0, |next| next.revision);
        let id: u32 = next.map_or(Ok(1), |next| parse(REGISTRY, &next))?;
        let after = id.checked_add(1).ok_or_else(|| Error::Document {
            collection: REGISTRY,
            key: NEXT_ID.to_owned(),
            reason: "all ids are given".to_owned(),
        })?;
        let put = |collection, key: &str, value, expect| DocumentWrite::put(collection, key, value).expecting(expect);
        work.write(put(REGISTRY, NEXT_ID, after.to_string().into_bytes(), Expect::Revision(revision)));
        work.write(put(DIGESTS, &digest, id.to_string().into_bytes(), Expect::Absent));
        work.write(put(TEXTS, &id_key(id), to_json(TEXTS, &digest, document)?, Expect::Absent));
        Ok(id)
    }

    /// Compiles the upcaster that comes with a candidate.
    pub(super) async fn check_program(
        &self,
        topic: &TopicName,
        candidate: &SchemaCandidate,
    ) -> Result<ProgramGiven, Error> {
        let Some(program) = candidate.upcast.clone() else {
            return Ok(ProgramGiven::No);
        };
        match self.filter_places.run_in(Lane::Background, move || Upcaster::jq(&program)).await {
            Some(Ok(_)) => Ok(ProgramGiven::Yes),
            Some(Err(error)) => Err(Error::SchemaChange {
                topic: topic.clone(),
                reason: format!("its upcaster is not valid jq: {error}"),
            }),
            None => Err(stopped()),
        }
    }

    /// Judges the candidate by its compatibility. True if the version before needs no upcaster.
    async fn compare(
        &self,
        steps: &Steps<'_>,
        candidate: &SchemaCandidate,
        settings: SchemaSettings,
        new: Value,
        verdict: &mut RegistrationVerdict,
    ) -> Result<bool, Error> {
        let (entry, topic) = (steps.stored, &steps.stored.topic);
        let earlier: Vec<(u32, u32)> = entry.live().map(|live| (live.version, live.id)).collect();
        let Some(last) = earlier.last().copied() else {
            return Ok(false);
        };
        let asked = candidate.compat.unwrap_or(settings.compat);
        let (new, rules) = (Arc::new(new), comparison(settings));
        let mut check = ModeCheck::new(asked, rules);
        for (version, id) in earlier[check.reach(earlier.len())].iter().rev() {
            if check.is_over() {
                break;
            }
            check = self.hold_against(topic, check, (*version, *id), &new).await?;
        }
        let strictly = compat::Settings { undecided: prom_schema::Undecided::Refuse, ..rules };
        let backward = self.hold_against(topic, ModeCheck::new(Compat::Backward, strictly), last, &new).await?;
        let backward = backward.into_violations().is_empty();
        verdict.violations = check.into_violations();
        if let Some(from) = steps.missing(backward) {
            let missing = format!(
                "there is no upcaster from version {from} to {}, so readers that ask for the latest version cannot have \
                 events of version {from} and before",
                from + 1
            );
            match asked {
                Compat::Upcast => return Err(Error::SchemaChange { topic: topic.clone(), reason: missing }),
                _ => verdict.notes.push(missing),
            }
        }
        Ok(backward)
    }

    /// One comparison, which is a turn of its own: others who register and ask get theirs in between.
    async fn hold_against(
        &self,
        topic: &TopicName,
        mut check: ModeCheck,
        (version, id): (u32, u32),
        new: &Arc<Value>,
    ) -> Result<ModeCheck, Error> {
        let (old, new) = (self.schema_examiner().bundled(id).await?, new.clone());
        let compare = move || check.compare(u64::from(version), &old, &new).map(|()| check);
        let compared = self.filter_places.run_in(Lane::Background, compare).await.ok_or_else(stopped)?;
        compared.map_err(|error| Error::SchemaChange {
            topic: topic.clone(),
            reason: format!("it cannot be compared with version {version}: {error}"),
        })
    }
}

/// Whether a program came with the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramGiven {
    Yes,
    No,
}

/// The steps there would be between the versions of a topic.
struct Steps<'e> {
    stored: &'e TopicSchemas,
    program: ProgramGiven,
    functions: std::collections::BTreeMap<u32, prom_schema::UpcastFn>,
}

impl Steps<'_> {
    /// The first version from which nothing leads on to the candidate.
    fn missing(&self, candidate_is_backward: bool) -> Option<u32> {
        let next = self.stored.next_version;
        let first = self.stored.versions.first()?.version;
        (first..next).find(|&from| {
            let leads_on = if from + 1 == next {
                candidate_is_backward || self.program == ProgramGiven::Yes
            } else {
                self.stored.version(from + 1).is_some_and(|version| version.backward)
            };
            !leads_on && !self.stored.upcasters.contains_key(&from) && !self.functions.contains_key(&from)
        })
    }
}

pub(super) fn comparison(settings: SchemaSettings) -> compat::Settings {
    compat::Settings {
        policy: settings.policy,
        formats: settings.formats,
        undecided: settings.undecided,
        ..compat::Settings::default()
    }
}

/// A thread that compares schemas or compiles programs was stopped, or panicked.
pub(super) fn stopped() -> Error {
    Error::NotReady { reason: "looking at the schema was stopped; the hub's log says why".to_owned() }
}

fn check_number(topic: &TopicName, candidate: &SchemaCandidate, entry: &TopicSchemas) -> Result<(), Error> {
    let refuse = |reason| Err(Error::SchemaChange { topic: topic.clone(), reason });
    let next = entry.next_version;
    if entry.versions.len() >= prom_schema::limits::VERSIONS {
        return refuse(format!("it has {} versions, as many as a topic may have", entry.versions.len()));
    }
    if candidate.upcast.is_some() && entry.versions.is_empty() {
        return refuse("its first version has nothing to upcast from".to_owned());
    }
    match candidate.version {
        Some(asked) if asked != next => {
            refuse(format!("the next version is {next}, not {asked}: versions are numbered without holes"))
        }
        _ => Ok(()),
    }
}

/// The hub's own topics have no schemas.
pub(super) fn writable(topic: &str) -> Result<TopicName, Error> {
    let topic = TopicName::parse(topic)?;
    if topic.is_reserved() {
        let reason = "the hub itself writes there".to_owned();
        return Err(Error::SchemaChange { topic, reason });
    }
    Ok(topic)
}

pub(super) fn to_json(collection: &'static str, key: &str, value: &impl serde::Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(value).map_err(|error| Error::Document {
        collection,
        key: key.to_owned(),
        reason: error.to_string(),
    })
}
