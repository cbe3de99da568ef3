//! What every request shares.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use prom_jobs::LetterOffice;

use super::budget::BodyBudget;
use super::job::JobPlaces;
use super::limits::{
    CUTOVERS_AT_ONCE, FLOW_CHANGES_AT_ONCE, PROOFS_AT_ONCE, REPLAYS_AT_ONCE, SEARCHES_AT_ONCE, SEARCHES_OF_A_SUBJECT,
    SNAPSHOTS_AT_ONCE, TRACES_AT_ONCE, TRAVELS_AT_ONCE,
};
use crate::Hub;
use crate::fair_places::FairPlaces;
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
    pub traces: JobPlaces,
    /// Searches wait here for each other.
    pub searches: FairPlaces,
    pub replays: JobPlaces,
    pub letters: LetterOffice,
    pub snapshots: JobPlaces,
    /// Answers about the past.
    pub travels: JobPlaces,
    pub flow_changes: JobPlaces,
}

impl Api {
    pub fn new(hub: Arc<Hub>) -> Arc<Self> {
        let started = hub.clock.monotonic();
        let sampler = Sampler::new(hub.bus.clone(), hub.clock.clone());
        let is_open = hub.auth.is_open();
        let budget = match is_open {
            true => BodyBudget::new(hub.options.bodies_bytes),
            false => BodyBudget::shared_by_subjects(hub.options.bodies_bytes, hub.options.body_bytes),
        };
        let proofs = JobPlaces::new("proofs of schemas", PROOFS_AT_ONCE);
        let cutovers = JobPlaces::new("cutovers", CUTOVERS_AT_ONCE);
        let searches =
            FairPlaces::new(SEARCHES_AT_ONCE, if is_open { SEARCHES_AT_ONCE } else { SEARCHES_OF_A_SUBJECT });
        let traces = JobPlaces::new("traces", TRACES_AT_ONCE);
        let replays = JobPlaces::new("replays", REPLAYS_AT_ONCE);
        let snapshots = JobPlaces::new("snapshots", SNAPSHOTS_AT_ONCE);
        let travels = JobPlaces::new("answers about the past", TRAVELS_AT_ONCE);
        let flow_changes = JobPlaces::new("changes of flows", FLOW_CHANGES_AT_ONCE);
        let letters = hub.letters.clone();
        Arc::new(Self {
            hub,
            sampler,
            started,
            openapi: OnceLock::new(),
            budget,
            proofs,
            cutovers,
            traces,
            searches,
            replays,
            letters,
            snapshots,
            travels,
            flow_changes,
        })
    }
}
