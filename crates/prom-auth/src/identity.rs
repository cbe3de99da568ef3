//! The identity of a caller.

use std::sync::Arc;

use prom_types::EpochMs;

use crate::Policy;

/// A caller that was let in. Cloning costs reference counts.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The token's `sub`. `None` if the hub is open or the token has no subject.
    pub subject: Option<Arc<str>>,
    pub policy: Arc<Policy>,
    /// When the token stops being accepted, by the wall clock, tolerance included. `None`: it never expires.
    pub expires_at_ms: Option<EpochMs>,
}

impl Identity {
    /// Any caller of a hub without authentication: no subject, every right.
    pub fn open() -> Self {
        Self { subject: None, policy: Arc::new(Policy::open()), expires_at_ms: None }
    }

    /// A caller with the static token of a development hub.
    pub(crate) fn development() -> Self {
        Self { subject: Some("dev".into()), ..Self::open() }
    }
}
