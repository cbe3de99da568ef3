//! Documents: small values in named collections, each with a revision for compare-and-set.

use async_trait::async_trait;
use bytes::Bytes;

use crate::StoreError;

/// A stored document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub key: String,
    pub value: Bytes,
    /// 1 for the first value, one more with each write; 0 stands for "absent".
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

/// What must hold for a write to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    Anything,
    Absent,
    Revision(u64),
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

impl Expect {
    /// Whether a document at `current` (0 when absent) is as expected.
    pub fn holds(self, current: u64) -> bool {
        match self {
            Self::Anything => true,
            Self::Absent => current == 0,
            Self::Revision(revision) => current == revision,
        }
    }
}

/// Reading documents. They change through commits.
#[async_trait]
pub trait Documents: Send + Sync {
    async fn document(&self, collection: &str, key: &str) -> Result<Option<Document>, StoreError>;

    /// Documents of a collection by key, those after `after` only, at most `limit`.
    async fn documents(&self, collection: &str, after: Option<&str>, limit: usize)
    -> Result<Vec<Document>, StoreError>;
}
