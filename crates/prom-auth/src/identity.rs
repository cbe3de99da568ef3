//! Who somebody turned out to be.

use std::sync::Arc;

use prom_types::EpochMs;

use crate::Policy;

/// A caller that was let in. Cloning costs reference counts.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The token's `sub`. `None` where the hub is open or the token named nobody.
    pub subject: Option<Arc<str>>,
    pub policy: Arc<Policy>,
    /// From this moment of the wall clock on the token is no longer accepted; the tolerance is already in it.
    /// `None`: never expires.
    pub expires_at_ms: Option<EpochMs>,
}

impl Identity {
    /// Whoever comes to a hub without authentication: nobody in particular, with every right.
    pub fn open() -> Self {
        Self { subject: None, policy: Arc::new(Policy::open()), expires_at_ms: None }
    }

    /// Whoever shows the static token of a development hub.
    pub(crate) fn development() -> Self {
        Self { subject: Some("dev".into()), ..Self::open() }
    }
}
