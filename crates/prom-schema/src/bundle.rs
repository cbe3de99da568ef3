//! One document out of a schema and those it refers to, so that everything else looks at one.
//!
//! A referenced schema goes below `$defs`, which is `definitions` in draft 7, with its name as `$id`: a `$ref` to that name then finds it within the document.

use serde_json::{Map, Value, json};

use crate::document::SchemaDocument;
use crate::draft::Draft;

/// Begins the name of what was put below `$defs`.
pub(crate) const REFERENCE: &str = "reference:";

/// The schema with what it refers to inside. `referenced` holds the schema of each name, itself bundled.
pub fn bundle(document: &SchemaDocument, referenced: &[(String, Value)]) -> Value {
    let mut schema = document.schema.clone();
    let Value::Object(members) = &mut schema else {
        return schema;
    };
    if referenced.is_empty() {
        return schema;
    }
    let draft = members.get("$schema").and_then(Value::as_str).and_then(Draft::named);
    let below = if draft == Some(Draft::Draft7) { "definitions" } else { "$defs" };
    let definitions = members.entry(below).or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(definitions) = definitions else {
        return schema;
    };
    for (name, other) in referenced {
        let mut other = match other {
            Value::Object(other) => other.clone(),
            plain => Map::from_iter([("allOf".to_owned(), json!([plain]))]),
        };
        other.insert("$id".to_owned(), Value::String(name.clone()));
        definitions.insert(format!("{REFERENCE}{name}"), Value::Object(other));
    }
    schema
}
