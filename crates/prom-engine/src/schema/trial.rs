//! A trial: what stored events would be like if a candidate were the latest version. Stores nothing.

use std::sync::Arc;

use prom_schema::{Compat, VersionEntry};

use super::NotNormalized;
use super::compiled::{CompiledTopic, CompiledVersion, RegisteredTopic};
use super::learn::StoredEntry;
use super::register::{RegistrationVerdict, SchemaCandidate};
use crate::filter::Lane;
use crate::{Bus, Error, StoredEvent};

/// A topic's schemas with a candidate on top.
#[derive(Debug, Clone)]
pub struct SchemaTrial {
    compiled: Arc<CompiledTopic>,
    version: u32,
}

impl Bus {
    /// Prepares a trial. The candidate need not be compatible: the verdict says whether it is.
    pub async fn try_schema(
        &self,
        topic: &str,
        candidate: &SchemaCandidate,
    ) -> Result<(SchemaTrial, RegistrationVerdict), Error> {
        let core = self.core();
        // Missing steps are found by the events themselves.
        let asked = candidate.compat.filter(|asked| *asked != Compat::Upcast);
        let candidate = SchemaCandidate { compat: Some(asked.unwrap_or(Compat::None)), ..candidate.clone() };
        let examined = core.examine(&super::register::writable(topic)?, &candidate).await?;
        let StoredEntry { mut entry, .. } = examined.stored;
        let version = match (&examined.fresh, examined.verdict.existing) {
            (Some(fresh), _) => {
                entry.versions.push(VersionEntry {
                    version: fresh.version,
                    id: 0,
                    registered_ts: 0,
                    registered_by: None,
                    backward: fresh.backward,
                    deleted: false,
                    references: Vec::new(),
                    memory_bytes: 0,
                });
                if let Some(program) = candidate.upcast.clone() {
                    entry.upcasters.insert(fresh.version - 1, program);
                }
                fresh.version
            }
            (None, existing) => {
                let version = existing.unwrap_or_default();
                // A program that is given is tried in place of the stored one.
                core.check_program(&entry.topic, &candidate).await?;
                if let Some(program) = candidate.upcast.clone() {
                    if entry.versions.first().is_none_or(|first| first.version >= version) {
                        let reason = "its first version has nothing to upcast from".to_owned();
                        return Err(Error::SchemaChange { topic: entry.topic, reason });
                    }
                    entry.upcasters.insert(version - 1, program);
                }
                version
            }
        };
        let settings = core.schemas.settings_of(&entry);
        let examiner = core.schema_examiner();
        let latest = match (&examined.fresh, entry.latest()) {
            (Some(fresh), _) => Some(fresh.compiled()),
            (None, Some(latest)) => {
                let validator = examiner.usable(latest, settings.formats).await?.map_err(Arc::from);
                Some(CompiledVersion { version: latest.version, validator })
            }
            (None, None) => None,
        };
        let registered = Arc::new(RegisteredTopic { entry, settings });
        // Events are judged by the latest version alone.
        let compiled = examiner.finish(registered, latest.into_iter().collect()).await?;
        Ok((SchemaTrial { compiled: Arc::new(compiled), version }, examined.verdict))
    }

    /// Whether the candidate could have each event, or why not. What upcasters make is looked at and dropped.
    pub async fn try_events(&self, trial: &SchemaTrial, events: Vec<StoredEvent>) -> Vec<Result<(), NotNormalized>> {
        let mut tried = Vec::with_capacity(events.len());
        self.core().normalize_run(Lane::Background, &trial.compiled, events, drop, &mut tried).await;
        tried
    }
}

impl SchemaTrial {
    /// The number that the candidate would get, or has.
    pub fn version(&self) -> u32 {
        self.version
    }
}
