//! The payload of a topic's messages: its latest schema, as a part of a larger document.

use prom_engine::{Bus, Error, SchemaChoice, SchemaDocument};
use prom_schema::bundle;
use prom_schema::limits::REFERENCES;
use prom_types::TopicName;
use serde_json::Value;

use crate::http::caller::Caller;
use crate::http::problem::Problem;
use crate::http::schema::may_read;

/// The latest version of a topic.
pub struct ChannelMessage {
    pub version: u32,
    pub schema: Value,
    pub bytes: usize,
}

pub async fn latest(bus: &Bus, caller: &Caller, topic: &TopicName) -> Result<Option<ChannelMessage>, Problem> {
    let found = match bus.schema_version(topic, SchemaChoice::Latest).await {
        Ok(found) => found,
        Err(Error::UnknownSchema { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut left = REFERENCES;
    let schema = whole(bus, caller, &found.document, &mut left).await?;
    let bytes = schema.to_string().len();
    Ok(Some(ChannelMessage { version: found.version, schema, bytes }))
}

/// The schema with what it refers to inside, as far as the caller may read that.
async fn whole(bus: &Bus, caller: &Caller, document: &SchemaDocument, left: &mut usize) -> Result<Value, Problem> {
    let mut referenced = Vec::new();
    for reference in document.references.iter().filter(|reference| may_read(caller, &reference.subject).is_ok()) {
        let Some(fewer) = left.checked_sub(1) else {
            break;
        };
        *left = fewer;
        let other = match bus.schema_version(&reference.subject, SchemaChoice::Version(reference.version)).await {
            Ok(other) => other,
            Err(Error::UnknownSchema { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        referenced.push((reference.name.clone(), Box::pin(whole(bus, caller, &other.document, left)).await?));
    }
    Ok(bundle(document, &referenced))
}
