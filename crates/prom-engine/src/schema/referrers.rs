//! Which schemas refer to a version.

use prom_schema::Reference;
use prom_types::TopicName;

use crate::{Bus, Error};

/// A version that refers to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaReferrer {
    /// Its topic.
    pub topic: TopicName,
    /// Its number.
    pub version: u32,
    /// The id of its schema.
    pub id: u32,
}

impl Bus {
    /// Live versions that refer to a version of a topic, by topic and number.
    pub async fn schema_referrers(&self, topic: &str, version: u32) -> Result<Vec<SchemaReferrer>, Error> {
        let topic = TopicName::parse(topic)?;
        let mut referrers = Vec::new();
        for entry in self.schemas().await? {
            for live in entry.live() {
                let document = self.core().schema_loader().text(live.id).await?;
                let is_meant = |other: &Reference| other.subject == topic && other.version == version;
                if document.references.iter().any(is_meant) {
                    referrers.push(SchemaReferrer { topic: entry.topic.clone(), version: live.version, id: live.id });
                }
            }
        }
        Ok(referrers)
    }
}
