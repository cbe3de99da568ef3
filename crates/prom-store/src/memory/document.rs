//! Documents in memory, ordered by collection and key.

use std::collections::BTreeMap;
use std::ops::Bound;

use async_trait::async_trait;
use hashbrown::HashMap;

use super::MemoryStore;
use crate::{CommitError, Document, DocumentWrite, Documents, StoreError};

#[derive(Default)]
pub(super) struct DocumentTable(BTreeMap<String, BTreeMap<String, Document>>);

impl DocumentTable {
    /// Whether the writes, made in this order, would all find what they expect.
    pub fn check(&self, writes: &[DocumentWrite]) -> Result<(), CommitError> {
        let mut revisions: HashMap<(&str, &str), u64> = HashMap::new();
        for write in writes {
            let revision = revisions
                .entry((&write.collection, &write.key))
                .or_insert_with(|| self.revision(&write.collection, &write.key));
            if !write.expect.holds(*revision) {
                return Err(CommitError::Conflict {
                    collection: write.collection.clone(),
                    key: write.key.clone(),
                    current: *revision,
                });
            }
            *revision = if write.value.is_some() { *revision + 1 } else { 0 };
        }
        Ok(())
    }

    /// Makes a write that was checked.
    pub fn apply(&mut self, write: DocumentWrite) {
        let revision = self.revision(&write.collection, &write.key) + 1;
        if let Some(value) = write.value {
            let document = Document { key: write.key.clone(), value, revision };
            self.0.entry(write.collection).or_default().insert(write.key, document);
        } else if let Some(collection) = self.0.get_mut(&write.collection) {
            collection.remove(&write.key);
            if collection.is_empty() {
                self.0.remove(&write.collection);
            }
        }
    }

    fn get(&self, collection: &str, key: &str) -> Option<&Document> {
        self.0.get(collection)?.get(key)
    }

    fn revision(&self, collection: &str, key: &str) -> u64 {
        self.get(collection, key).map_or(0, |document| document.revision)
    }
}

#[async_trait]
impl Documents for MemoryStore {
    async fn document(&self, collection: &str, key: &str) -> Result<Option<Document>, StoreError> {
        Ok(self.open_state()?.documents.get(collection, key).cloned())
    }

    async fn documents(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        let state = self.open_state()?;
        let Some(documents) = state.documents.0.get(collection) else {
            return Ok(Vec::new());
        };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let found = documents.range::<str, _>((from, Bound::Unbounded));
        Ok(found.map(|(_, document)| document.clone()).take(limit).collect())
    }
}
