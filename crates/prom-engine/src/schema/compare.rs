//! Comparing two schemas without registering anything: a candidate with one version, or two versions with each other.

use std::sync::Arc;

use prom_schema::compat::{self, Violation};
use prom_schema::{Compat, SchemaDocument, SchemaSettings};
use prom_types::TopicName;
use serde_json::Value;

use super::register::{comparison, stopped, writable};
use super::{RegistrationVerdict, SchemaCandidate, SchemaChoice};
use crate::bus::Core;
use crate::filter::Lane;
use crate::{Bus, Error};

/// What two versions mean to each other.
#[derive(Debug)]
pub struct SchemaComparison {
    /// Why documents of the first are not all valid under the second; empty if they are.
    pub backward: Vec<Violation>,
    /// Why documents of the second are not all valid under the first; empty if they are.
    pub forward: Vec<Violation>,
}

impl Bus {
    /// Whether a candidate keeps to its compatibility with one version, whichever that is. Stores nothing.
    pub async fn check_schema_against(
        &self,
        topic: &str,
        version: u32,
        candidate: &SchemaCandidate,
    ) -> Result<RegistrationVerdict, Error> {
        let topic = writable(topic)?;
        let core = self.core();
        let settings = self.schema_settings(Some(&topic)).await?;
        let earlier = self.schema_version(&topic, SchemaChoice::Version(version)).await?;
        let old = core.schema_examiner().bundled(earlier.id).await?;
        let new = core.bundled(&Arc::new(candidate.document.clone()), settings).await?;
        let asked = candidate.compat.unwrap_or(settings.compat);
        let violations = core.compare_pair(&topic, asked, (version, old), new, settings).await?;
        let existing = self.schema_lookup(&topic, &candidate.document).await?.map(|found| found.version);
        Ok(RegistrationVerdict { violations, existing, notes: Vec::new() })
    }

    /// Whether documents of one version are valid under the other, both ways.
    pub async fn compare_schema_versions(&self, topic: &str, from: u32, to: u32) -> Result<SchemaComparison, Error> {
        let topic = TopicName::parse(topic)?;
        let core = self.core();
        let settings = self.schema_settings(Some(&topic)).await?;
        let from_version = self.schema_version(&topic, SchemaChoice::Version(from)).await?;
        let to_version = self.schema_version(&topic, SchemaChoice::Version(to)).await?;
        let old = core.schema_examiner().bundled(from_version.id).await?;
        let new = core.schema_examiner().bundled(to_version.id).await?;
        let backward = core.compare_pair(&topic, Compat::Backward, (from, old.clone()), new.clone(), settings).await?;
        let forward = core.compare_pair(&topic, Compat::Forward, (from, old), new, settings).await?;
        Ok(SchemaComparison { backward, forward })
    }
}

impl Core {
    /// The schema with all it refers to.
    async fn bundled(&self, document: &Arc<SchemaDocument>, settings: SchemaSettings) -> Result<Value, Error> {
        Ok(self.schema_examiner().examine(document, settings.formats).await?.bundled)
    }

    async fn compare_pair(
        &self,
        topic: &TopicName,
        asked: Compat,
        (version, old): (u32, Value),
        new: Value,
        settings: SchemaSettings,
    ) -> Result<Vec<Violation>, Error> {
        let rules = comparison(settings);
        let judged = move || compat::check_mode(asked, &[(u64::from(version), &old)], &new, &rules);
        let judged = self.filter_places.run_in(Lane::Background, judged).await.ok_or_else(stopped)?;
        judged.map_err(|error| Error::SchemaChange { topic: topic.clone(), reason: error.to_string() })
    }
}
