//! Collections: documents that are filled from a topic, one for each key, and read over HTTP.
//!
//! ```text
//!   topic ─▶ cutover ─▶ CollectionStep ─▶ data.NAME     the documents
//!                                         fields.NAME   for each declared field: field · value · key
//!                                         field_counts.NAME
//!                                         collections/NAME   topic, declared fields, count: in the same commit
//! ```
//!
//! What is filled anew beside a collection is its next generation: `data.NAME.2` and so on. It is read once the registration names it.
//!
//! Only what is registered in `collections` is public, and only under its public name: no collection of the hub's own can be
//! named. Promises: counts and field entries are exact at every moment, because they are committed with the documents; of two
//! that fill a collection at once one commit is refused. A list never reads more than a stated number of documents.

mod field;
mod list;
mod renew;
mod write;

use std::collections::BTreeMap;

use prom_engine::{Bus, UnitOfWork};
use prom_store::{DocumentWrite, Expect};
use prom_types::TopicName;
use serde::{Deserialize, Serialize};

use crate::JobError;
use crate::limits::{COLLECTION_BYTES, COLLECTION_FIELDS};

pub use self::field::{DocumentField, FieldFilter};
pub use self::list::{CollectionPage, ListFrom};
pub use self::write::CollectionStep;

const COLLECTION: &str = "collections";
/// Before the name of a collection, in the store. No collection of the hub's own begins like this.
const PREFIX: &str = "data.";

/// The name of a collection of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionName(String);

/// What is known of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionInfo {
    /// The topic that it is filled from. Who may read that may read this.
    pub topic: TopicName,
    /// What its documents are.
    pub form: CollectionForm,
    /// Fields that a list can be filtered by, by name.
    #[serde(default)]
    pub fields: BTreeMap<String, DocumentField>,
    /// How many documents there are.
    pub count: u64,
    /// How often it was filled anew.
    #[serde(default, skip_serializing_if = "is_first")]
    pub generation: u32,
}

fn is_first(generation: &u32) -> bool {
    *generation == 0
}

/// What the documents of a collection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectionForm {
    /// Whole events.
    Event,
    /// What a projector made of them: an object with `_key`, `_v` and `_ts`.
    Projected,
}

impl CollectionForm {
    /// Where declared fields begin.
    fn base(self) -> &'static [&'static str] {
        match self {
            Self::Event => &["payload"],
            Self::Projected => &[],
        }
    }
}

/// A collection as it stands.
#[derive(Debug, Clone)]
pub struct Collection {
    /// Its name.
    pub name: CollectionName,
    /// What is known of it.
    pub info: CollectionInfo,
    /// Of the document that says so.
    revision: u64,
}

impl CollectionName {
    /// Checks a name.
    pub fn parse(name: &str) -> Result<Self, JobError> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase());
        if begins_well && name.len() <= COLLECTION_BYTES && name.chars().all(is_plain) {
            Ok(Self(name.to_owned()))
        } else {
            Err(JobError::Collection { name: name.chars().take(COLLECTION_BYTES).collect() })
        }
    }

    /// As it was asked for.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As the store has it.
    pub fn in_store(&self) -> String {
        format!("{PREFIX}{}", self.0)
    }

    /// What a generation of it has in the store beside the documents, and these.
    pub(super) fn parts_in_store(&self, generation: u32) -> [String; 3] {
        ["data", "fields", "field_counts"].map(|part| match generation {
            0 => format!("{part}.{}", self.0),
            later => format!("{part}.{}.{later}", self.0),
        })
    }
}

impl Collection {
    /// The collection of this name, if it was ever filled.
    pub async fn open(bus: &Bus, name: &CollectionName) -> Result<Option<Self>, JobError> {
        let Some(stored) = bus.document(COLLECTION, name.as_str()).await? else {
            return Ok(None);
        };
        let info = serde_json::from_slice(&stored.value).map_err(|error| JobError::CollectionUnreadable {
            name: name.as_str().to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Some(Self { name: name.clone(), info, revision: stored.revision }))
    }

    /// The collection, for one who fills it from this topic; registered by the unit of work if it is new. Fields that are
    /// declared once stay: `fields` is none, or the same.
    pub async fn declare(
        bus: &Bus,
        work: &mut UnitOfWork,
        name: &CollectionName,
        topic: &TopicName,
        form: CollectionForm,
        fields: &[String],
    ) -> Result<Self, JobError> {
        let fields = declared(form, fields)?;
        if let Some(there) = Self::open(bus, name).await? {
            let refuse = |reason: String| {
                Err(JobError::Target { topic: topic.clone(), target: format!("collection {}", name.as_str()), reason })
            };
            if there.info.topic != *topic {
                return refuse(format!("it holds the events of {}", there.info.topic));
            }
            if there.info.form != form {
                return refuse("it holds documents of another form; choose another name".to_owned());
            }
            if !fields.is_empty() && fields != there.info.fields {
                let names: Vec<&str> = there.info.fields.keys().map(String::as_str).collect();
                return refuse(format!("its declared fields are [{}], and they stay", names.join(", ")));
            }
            return Ok(there);
        }
        let info = CollectionInfo { topic: topic.clone(), form, fields, count: 0, generation: 0 };
        let mut new = Self { name: name.clone(), info, revision: 0 };
        work.write(new.registration()?);
        new.revision = 1;
        Ok(new)
    }

    /// A document, as it is stored.
    pub async fn document(&self, bus: &Bus, key: &str) -> Result<Option<bytes::Bytes>, JobError> {
        Ok(bus.document(&self.documents_in_store(), key).await?.map(|found| found.value))
    }

    fn documents_in_store(&self) -> String {
        let [documents, ..] = self.name.parts_in_store(self.info.generation);
        documents
    }

    fn registration(&self) -> Result<DocumentWrite, JobError> {
        let text = serde_json::to_vec(&self.info).map_err(|error| JobError::Progress { reason: error.to_string() })?;
        let write = DocumentWrite::put(COLLECTION, self.name.as_str(), text);
        Ok(write.expecting(Expect::Revision(self.revision)))
    }
}

/// Names of fields of the payload, or of the document. Those of nested ones have dots.
fn declared(form: CollectionForm, fields: &[String]) -> Result<BTreeMap<String, DocumentField>, JobError> {
    if fields.len() > COLLECTION_FIELDS {
        return Err(JobError::Field {
            name: format!("{} fields", fields.len()),
            reason: format!("a collection has at most {COLLECTION_FIELDS}"),
        });
    }
    fields.iter().map(|name| Ok((name.clone(), DocumentField::below(form.base(), name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_collection_of_the_hub_can_be_named() {
        for name in ["topics", "groups", "folds", "schemas", "data", "collections"] {
            assert!(CollectionName::parse(name).unwrap().in_store().starts_with("data."));
        }
        for bad in ["data.x", "../topics", "Topics", "", "a/b", "1a", "a\0", "a b"] {
            assert!(CollectionName::parse(bad).is_err(), "{bad:?} passed");
        }
    }
}
