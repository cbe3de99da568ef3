//! Documents that a program beside the bus keeps in its store, such as a secret that hubs share.

use std::time::Duration;

use bytes::Bytes;
use prom_store::{Document, DocumentWrite, Expect, StoreLease};

use crate::limits::CONTENTION_TRIES;
use crate::{Bus, Error};

impl Bus {
    /// A document, if there is one.
    pub async fn document(&self, collection: &str, key: &str) -> Result<Option<Document>, Error> {
        Ok(self.store().document(collection, key).await?)
    }

    /// Documents of a collection in key order, only those after `after`, at most `limit`.
    pub async fn documents(&self, collection: &str, after: Option<&str>, limit: usize) -> Result<Vec<Document>, Error> {
        Ok(self.store().documents(collection, after, limit).await?)
    }

    /// The right to do a piece of background work, among the processes that share the store; `None` while another has it.
    pub async fn acquire_lease(&self, work: &str, holder: &str, ttl: Duration) -> Result<Option<StoreLease>, Error> {
        Ok(self.store().acquire_lease(work, holder, ttl).await?)
    }

    /// Gives a lease back before it runs out, if it is still ours.
    pub async fn release_lease(&self, lease: &StoreLease) -> Result<(), Error> {
        Ok(self.store().release_lease(lease).await?)
    }

    /// The document of this name; where there is none, what `make` makes becomes it. Of several that
    /// insert at the same time one succeeds, and all get its value.
    pub async fn document_or_insert(
        &self,
        collection: &str,
        key: &str,
        make: impl Fn() -> Vec<u8>,
    ) -> Result<Bytes, Error> {
        for _ in 0..CONTENTION_TRIES {
            if let Some(document) = self.store().document(collection, key).await? {
                return Ok(document.value);
            }
            let write = DocumentWrite::put(collection, key, make()).expecting(Expect::Absent);
            match self.core().write(write).await {
                Ok(_) => {}
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended { what: format!("document {collection}/{key}") })
    }
}
