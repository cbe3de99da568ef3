//! A schema as it was handed in: checked, with the digest that names it.
//!
//! Two texts that differ only in the order of keys or in white space are the same schema.

use std::fmt::Write as _;

use prom_types::TopicName;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::SchemaError;
use crate::in_order::in_order;
use crate::limits::{REFERENCES, SCHEMA_BYTES, SCHEMA_DEPTH};

/// A schema of the registry that another one refers to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Reference {
    /// As `$ref` names it.
    pub name: String,
    /// The topic whose schema it is.
    pub subject: TopicName,
    /// The version of that topic.
    pub version: u32,
}

/// A schema with what it refers to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchemaDocument {
    /// The schema.
    pub schema: Value,
    /// Other schemas of the registry that it refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
}

impl SchemaDocument {
    /// Reads and checks text from outside.
    pub fn parse(text: &str, references: Vec<Reference>) -> Result<Self, SchemaError> {
        check_size("length in bytes", text.len(), SCHEMA_BYTES)?;
        let schema = serde_json::from_str(text).map_err(|error| SchemaError::NotJson { reason: error.to_string() })?;
        Self::new(schema, references)
    }

    /// Checks a schema from outside.
    pub fn new(schema: Value, mut references: Vec<Reference>) -> Result<Self, SchemaError> {
        check_size("number of references", references.len(), REFERENCES)?;
        check_size("nesting depth", depth(&schema), SCHEMA_DEPTH)?;
        if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
            let reason = "a schema is an object, true or false".to_owned();
            return Err(SchemaError::Invalid { pointer: String::new(), reason });
        }
        references.sort_unstable();
        let document = Self { schema: in_order(schema), references };
        check_size("length in bytes", document.text().len(), SCHEMA_BYTES)?;
        Ok(document)
    }

    /// The schema as text, keys in order.
    pub fn text(&self) -> String {
        self.schema.to_string()
    }

    /// Names the schema with its references, however it is written.
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(self.text());
        for reference in &self.references {
            digest.update(format!("\n{}\n{}\n{}", reference.name, reference.subject, reference.version));
        }
        digest.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            let _writing_into_memory = write!(text, "{byte:02x}");
            text
        })
    }
}

fn check_size(what: &'static str, size: usize, limit: usize) -> Result<(), SchemaError> {
    if size > limit { Err(SchemaError::TooLarge { what, size, limit }) } else { Ok(()) }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SchemaDocument, SchemaError> {
        SchemaDocument::parse(text, Vec::new())
    }

    #[test]
    fn order_of_keys_and_white_space_make_no_other_schema() {
        let one = parse(r#"{"type": "object", "required": ["a", "b"]}"#).unwrap();
        assert_eq!(one.digest(), parse("{\"required\":[\"a\",\"b\"],\n\"type\":\"object\"}").unwrap().digest());
        assert_ne!(one.digest(), parse(r#"{"type":"object","required":["b","a"]}"#).unwrap().digest());
        let reference = Reference { name: "a.json".to_owned(), subject: TopicName::parse("a").unwrap(), version: 1 };
        assert_ne!(one.digest(), SchemaDocument::new(one.schema.clone(), vec![reference]).unwrap().digest());
    }

    #[test]
    fn what_is_no_schema_or_too_much_of_one_is_refused() {
        assert!(matches!(parse("{"), Err(SchemaError::NotJson { .. })));
        assert!(matches!(parse("7"), Err(SchemaError::Invalid { .. })));
        let deep = format!("{}{}{}", "{\"not\":".repeat(100), "true", "}".repeat(100));
        assert!(matches!(parse(&deep), Err(SchemaError::TooLarge { what: "nesting depth", .. })));
        let long = format!("{{\"title\":\"{}\"}}", "x".repeat(SCHEMA_BYTES));
        assert!(matches!(parse(&long), Err(SchemaError::TooLarge { what: "length in bytes", .. })));
    }
}
