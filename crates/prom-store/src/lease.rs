//! Leases: who may do a piece of background work now, among the processes that share a store.

use std::time::Duration;

use async_trait::async_trait;

use crate::StoreError;

/// A right that ends by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub name: String,
    pub holder: String,
    /// Grows with every new holder: what is done under an older one can be told apart.
    pub fence: u64,
}

/// Taking and giving back leases. Time is the store's own.
#[async_trait]
pub trait Leases: Send + Sync {
    /// The lease, new or extended, or `None` while another holder has it.
    async fn acquire_lease(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<Lease>, StoreError>;

    /// The lease as somebody holds it now; `None` when nobody does.
    async fn held_lease(&self, name: &str) -> Result<Option<Lease>, StoreError>;

    /// Gives it back if it is still ours.
    async fn release_lease(&self, lease: &Lease) -> Result<(), StoreError>;
}
