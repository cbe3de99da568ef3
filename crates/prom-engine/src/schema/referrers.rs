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
    /// Live versions that refer to a version of a topic, by topic and number, as far as this process knows. Reads nothing:
    /// the schemas of all topics may be gigabytes.
    pub fn schema_referrers(&self, topic: &str, version: u32) -> Result<Vec<SchemaReferrer>, Error> {
        let topic = TopicName::parse(topic)?;
        let is_meant = |other: &Reference| other.subject == topic && other.version == version;
        let mut referrers = Vec::new();
        for (_, slot) in self.core().schemas.all_slots() {
            let Some(registered) = slot.registered() else {
                continue;
            };
            let referring = registered.entry.live().filter(|live| live.references.iter().any(is_meant));
            referrers.extend(referring.map(|live| SchemaReferrer {
                topic: registered.entry.topic.clone(),
                version: live.version,
                id: live.id,
            }));
        }
        referrers.sort_unstable_by(|one, other| (&one.topic, one.version).cmp(&(&other.topic, other.version)));
        Ok(referrers)
    }
}
