//! Subjects and schemas as clients write them.

use prom_engine::Bus;
use prom_protocol::http::confluent::{
    ConfluentReference, ConfluentSchema, ConfluentVersion, DEFAULT_SCHEMA_TYPE, SCHEMA_TYPE,
};
use prom_schema::{Reference, SchemaDocument, TopicSchemas, VersionEntry};
use prom_types::TopicName;

use super::ConfluentRefusal;
use crate::http::caller::Caller;
use crate::http::schema::may_read;

/// A topic under the name that the client uses for it.
pub struct Subject {
    pub name: String,
    pub topic: TopicName,
}

/// SubjectScope version a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionName {
    Latest,
    Number(u32),
}

impl VersionName {
    pub fn parse(text: &str) -> Result<Self, ConfluentRefusal> {
        match (text, text.parse::<i32>()) {
            ("latest" | "-1", _) => Ok(Self::Latest),
            (_, Ok(number)) if number > 0 => Ok(Self::Number(number.unsigned_abs())),
            _ => Err(ConfluentRefusal::invalid_version(text)),
        }
    }
}

impl Subject {
    /// For a change: a name that can be no subject is refused with the reason.
    pub fn to_change(name: &str) -> Result<Self, ConfluentRefusal> {
        if name.ends_with("-key") {
            return Err(ConfluentRefusal::invalid_subject(
                name,
                "keys are text and have no schema; register the value's",
            ));
        }
        let topic = name.strip_suffix("-value").unwrap_or(name);
        let topic = TopicName::parse(topic).map_err(|error| ConfluentRefusal::invalid_subject(name, error))?;
        Ok(Self { name: name.to_owned(), topic })
    }

    /// For reading: a name that can be no subject is one that does not exist.
    pub fn to_read(name: &str) -> Result<Self, ConfluentRefusal> {
        Self::to_change(name).map_err(|_| ConfluentRefusal::subject_not_found(name))
    }

    /// Its entry, for a caller that may see it; only where something of it is not deleted, unless asked otherwise.
    pub async fn entry(&self, bus: &Bus, which: SubjectScope) -> Result<TopicSchemas, ConfluentRefusal> {
        let entry = bus.schema(&self.topic).await?.filter(|entry| match which {
            SubjectScope::Live => entry.latest().is_some(),
            SubjectScope::All => !entry.versions.is_empty(),
        });
        entry.ok_or_else(|| ConfluentRefusal::subject_not_found(&self.name))
    }

    /// A version of it with its schema.
    pub async fn version(&self, bus: &Bus, version: u32) -> Result<ConfluentVersion, ConfluentRefusal> {
        let found = bus.schema_version(&self.topic, prom_engine::SchemaChoice::Version(version)).await?;
        Ok(ConfluentVersion {
            subject: self.name.clone(),
            version: found.version,
            id: found.id,
            schema_type: SCHEMA_TYPE.to_owned(),
            references: references(&found.document.references),
            schema: found.document.text(),
            deleted: found.deleted,
        })
    }
}

/// SubjectScope subjects exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectScope {
    Live,
    All,
}

/// The version of an entry that a path names.
pub fn find(entry: &TopicSchemas, name: VersionName, which: SubjectScope) -> Result<&VersionEntry, ConfluentRefusal> {
    let found = match (name, which) {
        (VersionName::Latest, SubjectScope::Live) => entry.latest(),
        (VersionName::Latest, SubjectScope::All) => entry.versions.last(),
        (VersionName::Number(number), SubjectScope::Live) => entry.live().find(|version| version.version == number),
        (VersionName::Number(number), SubjectScope::All) => entry.version(number),
    };
    found.ok_or_else(|| match name {
        VersionName::Latest => ConfluentRefusal::version_not_found("latest"),
        VersionName::Number(number) => ConfluentRefusal::version_not_found(number),
    })
}

/// The schema of a body, whose references the caller may read.
pub fn document(caller: &Caller, body: ConfluentSchema) -> Result<SchemaDocument, ConfluentRefusal> {
    let kind = body.schema_type.as_deref().unwrap_or(DEFAULT_SCHEMA_TYPE);
    if kind != SCHEMA_TYPE {
        let kind: String = kind.chars().take(32).collect();
        return Err(ConfluentRefusal::invalid_schema(format_args!(
            "schemaType is {kind} (AVRO where it is left out), and this registry takes JSON only; send \"schemaType\": \"JSON\""
        )));
    }
    let mut references = Vec::with_capacity(body.references.len());
    for ConfluentReference { name, subject, version } in body.references {
        let subject = Subject::to_change(&subject)?;
        may_read(caller, &subject.topic)?;
        let version = u32::try_from(version).map_err(|_| ConfluentRefusal::invalid_version(&version.to_string()))?;
        references.push(Reference { name, subject: subject.topic, version });
    }
    Ok(SchemaDocument::parse(&body.schema, references)?)
}

pub fn references(references: &[Reference]) -> Vec<ConfluentReference> {
    let one = |reference: &Reference| ConfluentReference {
        name: reference.name.clone(),
        subject: reference.subject.to_string(),
        version: reference.version.into(),
    };
    references.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_a_topic_or_its_value() {
        for name in ["orders.placed", "orders.placed-value"] {
            let subject = Subject::to_read(name).unwrap();
            assert_eq!((subject.name.as_str(), subject.topic.as_str()), (name, "orders.placed"));
        }
        for name in ["orders.placed-key", "Orders-value", "-value", ""] {
            assert!(Subject::to_read(name).is_err() && Subject::to_change(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn versions_are_numbers_from_1_or_the_latest() {
        assert_eq!(VersionName::parse("latest").unwrap(), VersionName::Latest);
        assert_eq!(VersionName::parse("-1").unwrap(), VersionName::Latest);
        assert_eq!(VersionName::parse("7").unwrap(), VersionName::Number(7));
        for bad in ["0", "-2", "newest", "", "4294967296", "2147483648"] {
            assert!(VersionName::parse(bad).is_err(), "{bad:?}");
        }
    }
}
