//! Leases: which process may do a piece of background work, among those that share a store.

use std::time::Duration;

use async_trait::async_trait;

use crate::StoreError;

/// A right that expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreLease {
    pub name: String,
    pub holder: String,
    /// Grows with every new holder, so that writes under an older lease can be told apart.
    pub fence: u64,
}

/// Acquiring and releasing leases. The store decides the time.
#[async_trait]
pub trait Leases: Send + Sync {
    /// The lease, new or extended; `None` while another holder has it.
    async fn acquire_lease(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<StoreLease>, StoreError>;

    /// The lease as it is held now; `None` if it is free.
    async fn held_lease(&self, name: &str) -> Result<Option<StoreLease>, StoreError>;

    /// Releases it, if it is still ours.
    async fn release_lease(&self, lease: &StoreLease) -> Result<(), StoreError>;
}
