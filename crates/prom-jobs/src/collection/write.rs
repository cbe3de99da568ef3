//! Filling a collection: documents, field entries and counts of one step, in one commit.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use prom_engine::{Bus, UnitOfWork};
use prom_store::DocumentWrite;

use super::Collection;
use super::field::prefix;
use crate::JobError;
use crate::limits::DOCUMENTS_AT_ONCE;

/// What one step does to a collection.
#[derive(Debug, Default)]
pub struct CollectionStep {
    /// By key; `None` deletes.
    documents: BTreeMap<String, Option<Bytes>>,
}

impl CollectionStep {
    /// Writes a document. The last write of a step to a key counts.
    pub fn put(&mut self, key: String, document: Vec<u8>) {
        self.documents.insert(key, Some(document.into()));
    }

    /// Deletes a document, if it is there.
    pub fn delete(&mut self, key: String) {
        self.documents.insert(key, None);
    }

    /// Adds the step to a unit of work. Returns the collection as it is once that is stored; if it is refused, the collection
    /// has to be opened again.
    pub async fn add_to(
        self,
        bus: &Bus,
        work: &mut UnitOfWork,
        collection: &Collection,
    ) -> Result<Collection, JobError> {
        if self.documents.is_empty() {
            return Ok(collection.clone());
        }
        let mut after = self.add_documents_to(bus, work, collection).await?;
        work.write(after.registration()?);
        after.revision += 1;
        Ok(after)
    }

    /// As [`CollectionStep::add_to`] for a generation that is not registered yet: the caller keeps what is known of it.
    pub async fn add_documents_to(
        self,
        bus: &Bus,
        work: &mut UnitOfWork,
        collection: &Collection,
    ) -> Result<Collection, JobError> {
        let mut after = collection.clone();
        let in_store = collection.documents_in_store();
        let before = before(bus, &in_store, self.documents.keys().cloned().collect()).await?;
        let mut changes = FieldChanges::default();
        for ((key, new), old) in self.documents.into_iter().zip(before) {
            if old == new {
                continue;
            }
            after.info.count = match (&old, &new) {
                (None, Some(_)) => after.info.count + 1,
                (Some(_), None) => after.info.count.saturating_sub(1),
                _ => after.info.count,
            };
            changes.note(collection, &key, old.as_deref(), new.as_deref());
            work.write(match new {
                Some(new) => DocumentWrite::put(&in_store, &key, new),
                None => DocumentWrite::delete(&in_store, &key),
            });
        }
        changes.add_to(bus, work, collection).await?;
        Ok(after)
    }
}

/// Several at once: on a store behind a network each takes a moment.
async fn before(bus: &Bus, collection: &str, keys: Vec<String>) -> Result<Vec<Option<Bytes>>, JobError> {
    let read = keys
        .into_iter()
        .map(|key| async move { bus.document(collection, &key).await.map(|found| found.map(|one| one.value)) });
    Ok(stream::iter(read).buffered(DOCUMENTS_AT_ONCE).try_collect().await?)
}

#[derive(Default)]
struct FieldChanges {
    /// By the key of the entry; whether it is there afterwards.
    entries: BTreeMap<String, bool>,
    /// By what entries of a value begin with.
    counts: BTreeMap<String, i64>,
}

impl FieldChanges {
    fn note(&mut self, collection: &Collection, key: &str, old: Option<&[u8]>, new: Option<&[u8]>) {
        for (field, path) in &collection.info.fields {
            let value = |document: Option<&[u8]>| document.and_then(|document| path.value_in(document));
            let (old, new) = (value(old), value(new));
            if old == new {
                continue;
            }
            for (value, is_there) in [(old, false), (new, true)] {
                let Some(value) = value else { continue };
                let prefix = prefix(field, &value);
                self.entries.insert(format!("{prefix}{key}"), is_there);
                *self.counts.entry(prefix).or_default() += if is_there { 1 } else { -1 };
            }
        }
    }

    async fn add_to(self, bus: &Bus, work: &mut UnitOfWork, collection: &Collection) -> Result<(), JobError> {
        let [_, fields, counts] = collection.name.parts_in_store(collection.info.generation);
        for (entry, is_there) in self.entries {
            work.write(match is_there {
                true => DocumentWrite::put(&fields, &entry, "0"),
                false => DocumentWrite::delete(&fields, &entry),
            });
        }
        let changed: Vec<(String, i64)> = self.counts.into_iter().filter(|(_, change)| *change != 0).collect();
        let prefixes = changed.iter().map(|(prefix, _)| prefix.clone()).collect();
        let stored = before(bus, &counts, prefixes).await?;
        for ((prefix, change), stored) in changed.into_iter().zip(stored) {
            let count = count_in(stored.as_deref()).saturating_add_signed(change);
            work.write(match count {
                0 => DocumentWrite::delete(&counts, &prefix),
                count => DocumentWrite::put(&counts, &prefix, count.to_string()),
            });
        }
        Ok(())
    }
}

/// How many documents have a value, as it is stored.
pub(super) fn count_in(stored: Option<&[u8]>) -> u64 {
    stored.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()).unwrap_or(0)
}
