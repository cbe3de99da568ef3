//! What every request shares.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;

use super::budget::BodyBudget;
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
}

impl Api {
    pub fn new(hub: Arc<Hub>) -> Arc<Self> {
        let started = hub.clock.monotonic();
        let sampler = Sampler::new(hub.bus.clone(), hub.clock.clone());
        let budget = BodyBudget::new(hub.options.bodies_bytes);
        Arc::new(Self { hub, sampler, started, openapi: OnceLock::new(), budget })
    }
}
