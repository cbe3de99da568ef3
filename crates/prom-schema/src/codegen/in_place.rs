//! Keywords that judge the same value again: `$ref`, `allOf`, `not` and the like.
//!
//! A schema that comes back to itself through these alone says nothing and never ends. It is found here, before anything
//! else follows references.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::document::CodegenDocument;
use crate::draft::Draft;

/// Steps in place, one after the other, that are followed. A longer way is taken for an endless one.
const STEPS: usize = 500;

/// A subschema that leads to itself.
pub(super) fn find_endless<'s>(document: &CodegenDocument<'s>) -> Option<&'s Value> {
    let mut ended = HashSet::new();
    document.subschemas().into_iter().find(|schema| !ends(document, schema, &mut ended, &mut Vec::new()))
}

/// The subschemas that judge the same value, through references too.
pub(super) fn children<'s>(document: &CodegenDocument<'s>, map: &'s Map<String, Value>) -> Vec<&'s Value> {
    let mut found = Vec::new();
    if let Some(reference) = map.get("$ref").filter(|reference| reference.is_string()) {
        found.extend(document.resolve(reference));
        if document.draft == Draft::Draft7 {
            return found;
        }
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        found.extend(map.get(keyword).and_then(Value::as_array).into_iter().flatten());
    }
    for keyword in ["not", "if", "then", "else"] {
        found.extend(map.get(keyword));
    }
    for keyword in ["dependentSchemas", "dependencies"] {
        let schemas = map.get(keyword).and_then(Value::as_object).into_iter().flat_map(Map::values);
        found.extend(schemas.filter(|schema| !schema.is_array()));
    }
    found
}

fn ends<'s>(
    document: &CodegenDocument<'s>,
    schema: &'s Value,
    ended: &mut HashSet<*const Value>,
    way: &mut Vec<*const Value>,
) -> bool {
    let address = std::ptr::from_ref(schema);
    if ended.contains(&address) {
        return true;
    }
    if way.contains(&address) || way.len() > STEPS {
        return false;
    }
    way.push(address);
    let below = schema.as_object().map(|map| children(document, map)).unwrap_or_default();
    let all_end = below.into_iter().all(|child| ends(document, child, ended, way));
    way.pop();
    if all_end {
        ended.insert(address);
    }
    all_end
}
