//! Documents: small values in named collections, each with a revision for compare-and-set.

use async_trait::async_trait;
use bytes::Bytes;

use crate::{CommitError, DocumentWatch, StoreError};

/// A stored document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub key: String,
    pub value: Bytes,
    /// 1 for the first value, one more with each write; 0 means "absent".
    pub revision: u64,
}

/// A write of one document within a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentWrite {
    pub collection: String,
    pub key: String,
    /// `None` deletes.
    pub value: Option<Bytes>,
    pub expect: Expect,
}

/// The condition of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    Anything,
    Absent,
    Revision(u64),
    /// The document is absent, or already has this value. Then it keeps its revision.
    AbsentOrSame,
}

/// The current state of a document, including earlier writes of the same commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// 0 when absent.
    pub revision: u64,
    pub value: Option<Bytes>,
}

impl DocumentWrite {
    pub fn put(collection: &str, key: &str, value: impl Into<Bytes>) -> Self {
        Self {
            collection: collection.to_owned(),
            key: key.to_owned(),
            value: Some(value.into()),
            expect: Expect::Anything,
        }
    }

    pub fn delete(collection: &str, key: &str) -> Self {
        Self { collection: collection.to_owned(), key: key.to_owned(), value: None, expect: Expect::Anything }
    }

    pub fn expecting(mut self, expect: Expect) -> Self {
        self.expect = expect;
        self
    }
}

impl From<Option<Document>> for Standing {
    fn from(document: Option<Document>) -> Self {
        document
            .map_or_else(Self::default, |document| Self { revision: document.revision, value: Some(document.value) })
    }
}

impl DocumentWrite {
    /// The state after this write; `None` if nothing changes. Refused if the condition does not hold.
    pub fn onto(&self, current: &Standing) -> Result<Option<Standing>, CommitError> {
        let is_expected = match self.expect {
            Expect::Anything => true,
            Expect::Absent => current.revision == 0,
            Expect::Revision(revision) => current.revision == revision,
            Expect::AbsentOrSame if current.value == self.value => return Ok(None),
            Expect::AbsentOrSame => current.revision == 0,
        };
        if !is_expected {
            return Err(self.conflict(current.revision));
        }
        let revision = if self.value.is_some() { current.revision + 1 } else { 0 };
        Ok(Some(Standing { revision, value: self.value.clone() }))
    }

    /// The refusal of this write, if the document is at revision `current`.
    pub fn conflict(&self, current: u64) -> CommitError {
        CommitError::Conflict { collection: self.collection.clone(), key: self.key.clone(), current }
    }
}

/// Reading documents. They change through commits.
#[async_trait]
pub trait Documents: Send + Sync {
    async fn document(&self, collection: &str, key: &str) -> Result<Option<Document>, StoreError>;

    /// Documents of a collection in key order, only those after `after`, at most `limit`.
    async fn documents(&self, collection: &str, after: Option<&str>, limit: usize)
    -> Result<Vec<Document>, StoreError>;

    /// Announces writes to a collection, including those of other processes. `None` if no other process can write, or
    /// if the store does not announce this collection.
    fn watch_documents(&self, _collection: &str) -> Option<DocumentWatch> {
        None
    }
}
