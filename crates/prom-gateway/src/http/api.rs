//! What every request shares.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;

use super::budget::BodyBudget;
use super::job::JobPlaces;
use super::limits::{CUTOVERS_AT_ONCE, PROOFS_AT_ONCE};
use crate::Hub;
use crate::metrics::Sampler;

/// The state of the router.
pub(crate) struct Api {
    pub hub: Arc<Hub>,
    pub sampler: Arc<Sampler>,
    /// On the monotonic clock.
    pub started: Duration,
    /// Written on the first request.
    pub openapi: OnceLock<Bytes>,
    /// For the bodies of all requests and answers.
    pub budget: BodyBudget,
    pub proofs: JobPlaces,
    pub cutovers: JobPlaces,
}

impl Api {
    pub fn new(hub: Arc<Hub>) -> Arc<Self> {
        let started = hub.clock.monotonic();
        let sampler = Sampler::new(hub.bus.clone(), hub.clock.clone());
        let budget = BodyBudget::new(hub.options.bodies_bytes);
        let proofs = JobPlaces::new("proofs of schemas", PROOFS_AT_ONCE);
        let cutovers = JobPlaces::new("cutovers", CUTOVERS_AT_ONCE);
        Arc::new(Self { hub, sampler, started, openapi: OnceLock::new(), budget, proofs, cutovers })
    }
}
