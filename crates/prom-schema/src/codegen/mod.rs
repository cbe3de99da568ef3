//! Types and validators from JSON Schemas, for the programs that publish and subscribe.
//!
//! Promises:
//!
//! - The same schemas give the same bytes. Neither the time nor the order of keys in a schema shows in the output.
//! - Every document that a schema accepts fits the generated type. Where a type system cannot say what a schema says, the
//!   type is wider, never narrower. The guide lists the exceptions, which are about numbers.
//! - A TypeScript validator gives the verdict of the schema. A keyword that it does not check is named in the comment of
//!   the validator, and in [`Generated::notes`].
//! - Text from a schema stays text: no title, name or pattern can become code.
//!
//! Schemas are read as draft 2020-12, or as the draft that `$schema` names: 2019-09 and 7 too.

mod document;
mod in_place;
mod model;

mod names;
mod text;

mod rust;
mod typescript;

mod check;

use prom_types::TopicName;
use serde_json::Value;

use crate::in_order::in_order;

pub use check::{Drift, compare};

use document::CodegenDocument;

/// One registered version of a topic's schema.
#[derive(Debug, Clone)]
pub struct SchemaSource {
    pub topic: TopicName,
    pub version: u32,
    pub schema: Value,
    /// Whether this is what the topic's unversioned name stands for. One version of each topic is.
    pub is_latest: bool,
}

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    TypeScript,
    Rust,
}

/// The text of one file.
#[derive(Debug, Clone)]
pub struct Generated {
    pub text: String,
    /// What a reader of the file should know, sorted: keywords that no validator checks, schemas without a type.
    pub notes: Vec<CodegenNote>,
}

/// Something in a schema that the generated code does not express.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodegenNote {
    pub topic: TopicName,
    pub version: u32,
    /// JSON pointer into the schema.
    pub pointer: String,
    pub text: String,
}

/// Why nothing was generated. Each names the schema to mend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    #[error("{topic} v{version}: draft `{draft}` is not read; use 2020-12, 2019-09 or 7")]
    Draft { topic: TopicName, version: u32, draft: String },
    #[error("{topic} v{version}: the schema at `{pointer}` refers to itself without reading anything in between")]
    Endless { topic: TopicName, version: u32, pointer: String },
    #[error("{topic} v{version}: a schema is an object or a boolean, and the one at `{pointer}` is neither")]
    NotASchema { topic: TopicName, version: u32, pointer: String },
    #[error("{topic} v{version}: {reason}")]
    Unreadable { topic: TopicName, version: u32, reason: String },
    #[error("{topic} v{version} is given twice")]
    Twice { topic: TopicName, version: u32 },
}

/// Writes one file for all of these schemas, sorted by topic and version.
pub fn generate(language: Language, sources: &[SchemaSource]) -> Result<Generated, CodegenError> {
    // The same schemas give the same bytes, in whichever order their members were written.
    let sources: Vec<SchemaSource> = sources
        .iter()
        .map(|source| SchemaSource { schema: in_order(source.schema.clone()), ..source.clone() })
        .collect();
    let sources = sources.as_slice();
    let mut sorted: Vec<&SchemaSource> = sources.iter().collect();
    sorted.sort_by(|one, other| (&one.topic, one.version).cmp(&(&other.topic, other.version)));
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0].id() == pair[1].id()) {
        return Err(CodegenError::Twice { topic: pair[0].topic.clone(), version: pair[0].version });
    }
    let documents = sorted.into_iter().map(CodegenDocument::read).collect::<Result<Vec<_>, _>>()?;
    let (text, mut notes) = match language {
        Language::TypeScript => typescript::write(&documents),
        Language::Rust => rust::write(&documents),
    };
    notes.sort();
    notes.dedup();
    Ok(Generated { text, notes })
}

impl SchemaSource {
    fn id(&self) -> (&TopicName, u32) {
        (&self.topic, self.version)
    }
}
