//! One document out of a schema and those it refers to, so that everything else looks at one.
//!
//! A referenced schema goes below `$defs` with its name as `$id`: a `$ref` to that name then finds it within the document.

use serde_json::{Map, Value, json};

use crate::document::SchemaDocument;

/// The schema with what it refers to inside. `referenced` holds the schema of each name, itself bundled.
pub fn bundle(document: &SchemaDocument, referenced: &[(String, Value)]) -> Value {
    let mut schema = document.schema.clone();
    let Value::Object(members) = &mut schema else {
        return schema;
    };
    if referenced.is_empty() {
        return schema;
    }
    let definitions = members.entry("$defs").or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(definitions) = definitions else {
        return schema;
    };
    for (name, other) in referenced {
        let mut other = match other {
            Value::Object(other) => other.clone(),
            plain => Map::from_iter([("allOf".to_owned(), json!([plain]))]),
        };
        other.insert("$id".to_owned(), Value::String(name.clone()));
        definitions.insert(format!("reference:{name}"), Value::Object(other));
    }
    schema
}
