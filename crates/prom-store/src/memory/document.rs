//! Documents in memory, ordered by collection and key.

use std::collections::BTreeMap;
use std::ops::Bound;

use async_trait::async_trait;
use hashbrown::HashMap;

use super::MemoryStore;
use crate::{CommitError, Document, DocumentNews, DocumentWatch, DocumentWrite, Documents, Standing, StoreError};

#[derive(Default)]
pub(super) struct DocumentTable(BTreeMap<String, BTreeMap<String, Document>>);

impl DocumentTable {
    /// Whether all writes, applied in this order, would find what they expect.
    pub fn check(&self, writes: &[DocumentWrite]) -> Result<(), CommitError> {
        let mut ahead: HashMap<(&str, &str), Standing> = HashMap::new();
        for write in writes {
            let current = ahead
                .entry((&write.collection, &write.key))
                .or_insert_with(|| self.standing(&write.collection, &write.key));
            if let Some(next) = write.onto(current)? {
                *current = next;
            }
        }
        Ok(())
    }

    /// Applies a checked write. Returns the news; `None` if the document did not change.
    pub fn apply(&mut self, write: DocumentWrite) -> Option<DocumentNews> {
        let next = write.onto(&self.standing(&write.collection, &write.key)).ok()??;
        if let Some(value) = next.value {
            let document = Document { key: write.key.clone(), value, revision: next.revision };
            self.0.entry(write.collection).or_default().insert(write.key, document.clone());
            return Some(DocumentNews::Written(document));
        }
        if let Some(collection) = self.0.get_mut(&write.collection) {
            collection.remove(&write.key);
            if collection.is_empty() {
                self.0.remove(&write.collection);
            }
        }
        Some(DocumentNews::Deleted(write.key))
    }

    fn get(&self, collection: &str, key: &str) -> Option<&Document> {
        self.0.get(collection)?.get(key)
    }

    fn standing(&self, collection: &str, key: &str) -> Standing {
        self.get(collection, key).cloned().into()
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

    /// Several buses may share it.
    fn watch_documents(&self, collection: &str) -> Option<DocumentWatch> {
        Some(self.state.lock().listeners.watch(collection))
    }
}
