//! A schema with its draft, and what its references lead to.
//!
//! A reference is followed inside the document, and into the schemas that are embedded in it with an `$id` of their own:
//! those that it refers to in the registry are. All other references are named in the notes and not followed.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::in_place;
use super::{CodegenError, CodegenNote, SchemaSource};
use crate::draft::Draft;
use crate::references::{IndexedSchema, escape};

/// Nesting that is followed. JSON that was parsed is never this deep.
pub(super) const DEPTH: usize = 256;

pub(super) struct CodegenDocument<'s> {
    pub source: &'s SchemaSource,
    pub draft: Draft,
    /// Where each value stands, by its address.
    pointers: HashMap<*const Value, String>,
    references: IndexedSchema<'s>,
}

impl<'s> CodegenDocument<'s> {
    pub fn read(source: &'s SchemaSource) -> Result<Self, CodegenError> {
        let draft = draft_of(source)?;
        let references = IndexedSchema::index(&source.schema, draft).map_err(|error| CodegenError::Unreadable {
            topic: source.topic.clone(),
            version: source.version,
            reason: error.to_string(),
        })?;
        let mut document = Self { source, draft, pointers: HashMap::new(), references };
        document.index(&source.schema, String::new(), 0);
        for schema in document.subschemas() {
            let pointer = document.pointer(schema).to_owned();
            if !schema.is_object() && !schema.is_boolean() {
                return Err(CodegenError::NotASchema { topic: source.topic.clone(), version: source.version, pointer });
            }
        }
        if let Some(schema) = in_place::find_endless(&document) {
            let pointer = document.pointer(schema).to_owned();
            return Err(CodegenError::Endless { topic: source.topic.clone(), version: source.version, pointer });
        }
        Ok(document)
    }

    pub fn root(&self) -> &'s Value {
        &self.source.schema
    }

    /// JSON pointer of a value of this document.
    pub fn pointer(&self, value: &Value) -> &str {
        self.pointers.get(&std::ptr::from_ref(value)).map_or("", String::as_str)
    }

    /// What the value of a `$ref` leads to, if that is in this document.
    pub fn resolve(&self, reference: &Value) -> Option<&'s Value> {
        let pointer = self.pointer(reference);
        let base = self.references.base_at(pointer);
        let (_, target) = self.references.locate(pointer, reference.as_str()?, &base).ok()?;
        (target.is_object() || target.is_boolean()).then_some(target)
    }

    /// The schemas of the first items, and that of all others.
    pub fn items<'v>(&self, map: &'v Map<String, Value>) -> (&'v [Value], Option<&'v Value>) {
        let list = |value: Option<&'v Value>| value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        match (self.draft, map.get("items")) {
            (Draft::Draft7 | Draft::Draft201909, items @ Some(Value::Array(_))) => {
                (list(items), map.get("additionalItems"))
            }
            (Draft::Draft7 | Draft::Draft201909, items) => (&[], items),
            (Draft::Draft202012, items) => (list(map.get("prefixItems")), items),
        }
    }

    pub fn note(&self, schema: &Value, keyword: &str, text: impl Into<String>) -> CodegenNote {
        let at = self.pointer(schema);
        CodegenNote {
            topic: self.source.topic.clone(),
            version: self.source.version,
            pointer: if keyword.is_empty() { at.to_owned() } else { format!("{at}/{keyword}") },
            text: text.into(),
        }
    }

    /// Everything that is reached as a schema from the root and through references, the root first, in a fixed order.
    pub fn subschemas(&self) -> Vec<&'s Value> {
        let mut found = vec![self.root()];
        let mut seen = std::collections::HashSet::from([std::ptr::from_ref(self.root())]);
        let mut next = 0;
        while let Some(schema) = found.get(next).copied() {
            next += 1;
            let Some(map) = schema.as_object() else { continue };
            let mut below = in_place::children(self, map);
            below.extend(children_of_parts(map));
            found.extend(below.into_iter().filter(|child| seen.insert(std::ptr::from_ref(*child))));
        }
        found
    }

    fn index(&mut self, value: &'s Value, pointer: String, depth: usize) {
        if depth > DEPTH {
            return;
        }
        match value {
            Value::Object(map) => {
                for (key, below) in map {
                    self.index(below, format!("{pointer}/{}", escape(key)), depth + 1);
                }
            }
            Value::Array(items) => {
                for (at, below) in items.iter().enumerate() {
                    self.index(below, format!("{pointer}/{at}"), depth + 1);
                }
            }
            _ => {}
        }
        self.pointers.insert(std::ptr::from_ref(value), pointer);
    }
}

/// Subschemas that judge a part of the value.
fn children_of_parts(map: &Map<String, Value>) -> Vec<&Value> {
    let mut found = Vec::new();
    for keyword in ["properties", "patternProperties"] {
        found.extend(map.get(keyword).and_then(Value::as_object).into_iter().flat_map(Map::values));
    }
    for keyword in [
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "items",
        "additionalItems",
        "unevaluatedItems",
        "contains",
    ] {
        found.extend(map.get(keyword).filter(|value| !value.is_array()));
    }
    for keyword in ["prefixItems", "items"] {
        found.extend(map.get(keyword).and_then(Value::as_array).into_iter().flatten());
    }
    found
}

fn draft_of(source: &SchemaSource) -> Result<Draft, CodegenError> {
    let Some(named) = source.schema.get("$schema").and_then(Value::as_str) else {
        return Ok(Draft::Draft202012);
    };
    let unknown =
        || CodegenError::Draft { topic: source.topic.clone(), version: source.version, draft: named.to_owned() };
    Draft::named(named).ok_or_else(unknown)
}
