//! Documents in the hub's own store: they and the cursor are one commit, so every event counts once, whatever happens.
//!
//! ```text
//!   data.NAME       {"_key", "_v", "_ts", …}      as a collection that a cutover fills
//!   deleted.NAME    {"_key", "_v", "_ts"}         the version that deleted a key: nothing older brings it back
//! ```

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures::stream::{self, StreamExt, TryStreamExt};
use prom_engine::{Bus, HeldBatch, UnitOfWork};
use prom_jobs::{Collection, CollectionForm, CollectionInfo, CollectionName, CollectionStep};
use prom_store::{DocumentWrite, Expect};
use prom_types::TopicName;
use serde_json::{Map, Value};

use super::change::{DocumentVersion, KEY, NewestChange, TIME, VersionRule};
use super::error::ProjectError;
use super::limits::{DELETED_KEPT, DOCUMENTS_AT_ONCE, REMOVED_AT_ONCE};
use super::settings::ProjectedCollection;
use super::target::{AppliedBatch, EditsByDocument, ProjectedBatch, ProjectionTarget, TargetSide};

pub(crate) struct StoreTarget {
    bus: Bus,
    topic: TopicName,
    declared: Vec<ProjectedCollection>,
    rule: VersionRule,
    live: BTreeMap<String, Collection>,
    beside: BTreeMap<String, Collection>,
    /// As they are once the unit of work is stored.
    next: BTreeMap<String, Collection>,
    /// How far old versions of deleted keys were looked at.
    forgotten: Option<String>,
}

impl StoreTarget {
    pub fn new(bus: Bus, topic: TopicName, declared: Vec<ProjectedCollection>, rule: VersionRule) -> Self {
        let (live, beside, next) = Default::default();
        Self { bus, topic, declared, rule, live, beside, next, forgotten: None }
    }

    fn side(&self, side: TargetSide) -> &BTreeMap<String, Collection> {
        match side {
            TargetSide::Live => &self.live,
            TargetSide::Beside => &self.beside,
        }
    }

    fn collection(&self, side: TargetSide, name: &str) -> Result<&Collection, ProjectError> {
        self.side(side).get(name).ok_or_else(|| undeclared(name, &self.declared))
    }

    async fn add(
        &mut self,
        side: TargetSide,
        name: &str,
        step: CollectionStep,
        work: &mut UnitOfWork,
    ) -> Result<(), ProjectError> {
        let collection = self.collection(side, name)?;
        let after = match side {
            TargetSide::Live => step.add_to(&self.bus, work, collection).await?,
            TargetSide::Beside => step.add_documents_to(&self.bus, work, collection).await?,
        };
        self.next.insert(name.to_owned(), after);
        Ok(())
    }

    async fn change(
        &mut self,
        side: TargetSide,
        changes: &[NewestChange],
        work: &mut UnitOfWork,
    ) -> Result<AppliedBatch, ProjectError> {
        let Some(name) = self.declared.first().map(|declared| declared.name.clone()) else {
            return Ok(AppliedBatch::default());
        };
        let collection = self.collection(side, &name)?.clone();
        let deleted = deleted_in_store(&collection);
        let known = self.known(&collection, &deleted, changes).await?;
        let (mut step, mut applied) = (CollectionStep::default(), AppliedBatch::default());
        for (change, known) in changes.iter().zip(known) {
            if known.version.is_some_and(|known| !change.version.is_newer(known, self.rule)) {
                applied.older += 1;
                continue;
            }
            let document = change.document().map_err(ProjectError::Unfit)?;
            if change.body.is_some() {
                step.put(change.key.clone(), document);
                if known.is_deleted {
                    work.write(DocumentWrite::delete(&deleted, &change.key));
                }
            } else {
                step.delete(change.key.clone());
                work.write(DocumentWrite::put(&deleted, &change.key, document));
            }
            applied.written += 1;
        }
        self.add(side, &name, step, work).await?;
        Ok(applied)
    }

    /// What the documents of these keys are at, or were when they were deleted.
    async fn known(
        &self,
        collection: &Collection,
        deleted: &str,
        changes: &[NewestChange],
    ) -> Result<Vec<KnownDocument>, ProjectError> {
        let look = |key: String| async move {
            if let Some(document) = collection.document(&self.bus, &key).await? {
                return Ok(KnownDocument { version: DocumentVersion::in_document(&document), is_deleted: false });
            }
            let gone = self.bus.document(deleted, &key).await?;
            let is_deleted = gone.is_some();
            let version = gone.and_then(|gone| DocumentVersion::in_document(&gone.value));
            Ok::<_, ProjectError>(KnownDocument { version, is_deleted })
        };
        let keys: Vec<String> = changes.iter().map(|change| change.key.clone()).collect();
        stream::iter(keys.into_iter().map(look)).buffered(DOCUMENTS_AT_ONCE).try_collect().await
    }

    async fn edit(
        &mut self,
        side: TargetSide,
        edits: &EditsByDocument,
        work: &mut UnitOfWork,
    ) -> Result<AppliedBatch, ProjectError> {
        let mut applied = AppliedBatch::default();
        let mut steps: BTreeMap<String, CollectionStep> = BTreeMap::new();
        for ((name, key), (folded, ts)) in edits {
            let stored = self.collection(side, name)?.document(&self.bus, key).await?;
            let before: Option<Map<String, Value>> = match stored {
                Some(text) => Some(serde_json::from_slice(&text).map_err(|error| {
                    ProjectError::Stopped(format!(
                        "the document {name}/{key} cannot be read: {error}; rebuild the projector"
                    ))
                })?),
                None => None,
            };
            let after = folded.apply(before).map_err(ProjectError::Unfit)?;
            let step = steps.entry(name.clone()).or_default();
            match after {
                Some(mut document) => {
                    document.insert(KEY.to_owned(), key.as_str().into());
                    document.insert(TIME.to_owned(), (*ts).into());
                    step.put(key.clone(), Value::Object(document).to_string().into_bytes());
                }
                None => step.delete(key.clone()),
            }
            applied.written += 1;
        }
        for (name, step) in steps {
            self.add(side, &name, step, work).await?;
        }
        Ok(applied)
    }
}

struct KnownDocument {
    version: Option<DocumentVersion>,
    is_deleted: bool,
}

pub(crate) fn undeclared(name: &str, declared: &[ProjectedCollection]) -> ProjectError {
    let names: Vec<&str> = declared.iter().map(|declared| declared.name.as_str()).collect();
    ProjectError::Unfit(format!("{name} is none of the projector's collections ({})", names.join(", ")))
}

/// Where the versions of deleted keys are.
pub(crate) fn deleted_in_store(collection: &Collection) -> String {
    match collection.info.generation {
        0 => format!("deleted.{}", collection.name.as_str()),
        later => format!("deleted.{}.{later}", collection.name.as_str()),
    }
}

#[async_trait]
impl ProjectionTarget for StoreTarget {
    async fn open(&mut self, beside: Option<&[CollectionInfo]>) -> Result<(), ProjectError> {
        self.next.clear();
        self.live.clear();
        self.beside.clear();
        let mut work = self.bus.unit_of_work();
        for (at, declared) in self.declared.iter().enumerate() {
            let name = CollectionName::parse(&declared.name)?;
            let mut fields: Vec<String> = declared.indexes.iter().flatten().cloned().collect();
            fields.sort_unstable();
            fields.dedup();
            let form = CollectionForm::Projected;
            let live = Collection::declare(&self.bus, &mut work, &name, &self.topic, form, &fields).await?;
            if let Some(info) = beside.and_then(|beside| beside.get(at)) {
                self.beside.insert(declared.name.clone(), live.beside_as(info.clone()));
            }
            self.live.insert(declared.name.clone(), live);
        }
        work.commit().await?;
        Ok(())
    }

    async fn apply(
        &mut self,
        side: TargetSide,
        batch: &ProjectedBatch,
        _read: &HeldBatch,
        work: &mut UnitOfWork,
    ) -> Result<AppliedBatch, ProjectError> {
        self.next.clear();
        match batch {
            ProjectedBatch::Changes(changes) => self.change(side, changes, work).await,
            ProjectedBatch::Edits(edits) => self.edit(side, edits, work).await,
            ProjectedBatch::States(_) => Err(ProjectError::Stopped("states go to a topic".to_owned())),
        }
    }

    fn committed(&mut self, side: TargetSide) {
        let next = std::mem::take(&mut self.next);
        match side {
            TargetSide::Live => self.live.extend(next),
            TargetSide::Beside => self.beside.extend(next),
        }
    }

    async fn begin_beside(&mut self) -> Result<(), ProjectError> {
        self.beside = self.live.iter().map(|(name, live)| (name.clone(), live.beside())).collect();
        for made in self.beside.values() {
            remove_generation(&self.bus, made).await?;
        }
        Ok(())
    }

    fn beside(&self) -> Vec<CollectionInfo> {
        let after = |name: &String| self.next.get(name).or_else(|| self.beside.get(name));
        self.declared.iter().filter_map(|declared| after(&declared.name)).map(|made| made.info.clone()).collect()
    }

    async fn swap(&mut self, work: &mut UnitOfWork) -> Result<(), ProjectError> {
        self.next.clear();
        for (name, made) in &self.beside {
            if let Some(live) = self.live.get(name) {
                self.next.insert(name.clone(), live.replaced_by(work, made.clone())?);
            }
        }
        Ok(())
    }

    async fn sweep(&mut self) -> Result<(), ProjectError> {
        for live in self.live.values() {
            if let Some(generation) = live.info.generation.checked_sub(1) {
                let replaced = live.beside_as(CollectionInfo { generation, ..live.info.clone() });
                remove_generation(&self.bus, &replaced).await?;
            }
        }
        Ok(())
    }

    async fn forget_some(&mut self) -> Result<(), ProjectError> {
        let Some(live) = self.live.values().next() else { return Ok(()) };
        let deleted = deleted_in_store(live);
        let some = self.bus.documents(&deleted, self.forgotten.as_deref(), REMOVED_AT_ONCE).await?;
        self.forgotten = some.last().map(|last| last.key.clone()).filter(|_| some.len() == REMOVED_AT_ONCE);
        let kept_ms = i64::try_from(DELETED_KEPT.as_millis()).unwrap_or(i64::MAX);
        let oldest = self.bus.clock().now_ms().saturating_sub(kept_ms);
        let is_old = |text: &[u8]| DocumentVersion::in_document(text).is_some_and(|known| known.ts < oldest);
        let mut work = self.bus.unit_of_work();
        let old: Vec<_> = some.iter().filter(|document| is_old(&document.value)).collect();
        if old.is_empty() {
            return Ok(());
        }
        for document in old {
            let expect = Expect::Revision(document.revision);
            work.write(DocumentWrite::delete(&deleted, &document.key).expecting(expect));
        }
        work.commit().await?;
        Ok(())
    }
}

/// Removes what there is of a generation that is not read, in as many commits as that takes.
pub(crate) async fn remove_generation(bus: &Bus, collection: &Collection) -> Result<(), ProjectError> {
    let deleted = deleted_in_store(collection);
    loop {
        let mut work = bus.unit_of_work();
        if collection.name.remove_some(bus, &mut work, collection.info.generation).await? {
            break;
        }
        work.commit().await?;
    }
    loop {
        let some = bus.documents(&deleted, None, REMOVED_AT_ONCE).await?;
        if some.is_empty() {
            return Ok(());
        }
        let mut work = bus.unit_of_work();
        some.iter().for_each(|document| work.write(DocumentWrite::delete(&deleted, &document.key)));
        work.commit().await?;
    }
}
