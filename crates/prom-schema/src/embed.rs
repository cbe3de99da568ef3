//! A schema as a part of a larger document, such as an AsyncAPI one.
//!
//! Readers of such documents take `#/…` for a place in the whole document, and know neither `$id` nor `$anchor`. So each reference
//! becomes the pointer from the root of the document to its target, and names that nothing uses any more go.

use serde_json::{Map, Value};

use crate::draft::{Draft, NAMED, SCHEMAS};
use crate::references::{IndexedSchema, escape};

/// The schema as it stands at `place`, a JSON pointer into the document around it. What cannot be resolved stays as it is.
pub fn embed(schema: &Value, place: &str) -> Value {
    let draft = schema.get("$schema").and_then(Value::as_str).and_then(Draft::named).unwrap_or(Draft::Draft202012);
    match IndexedSchema::index(schema, draft) {
        Ok(references) => Embedding { references, place }.rewrite(schema, "", ""),
        Err(_) => schema.clone(),
    }
}

struct Embedding<'d> {
    references: IndexedSchema<'d>,
    place: &'d str,
}

impl Embedding<'_> {
    fn rewrite(&self, schema: &Value, pointer: &str, base: &str) -> Value {
        let Value::Object(members) = schema else { return schema.clone() };
        let base = self.references.base_of(pointer).unwrap_or(base);
        let mut written = Map::new();
        for (name, value) in members {
            match name.as_str() {
                "$id" | "$anchor" => {}
                "$ref" | "$dynamicRef" | "$recursiveRef" => self.refer(&mut written, name, value, pointer, base),
                keyword if SCHEMAS.contains(&keyword) => {
                    written.insert(name.clone(), self.below(keyword, value, &format!("{pointer}/{keyword}"), base));
                }
                _ => drop(written.insert(name.clone(), value.clone())),
            }
        }
        Value::Object(written)
    }

    fn below(&self, keyword: &str, value: &Value, at: &str, base: &str) -> Value {
        match value {
            Value::Array(items) => {
                let each =
                    items.iter().enumerate().map(|(index, item)| self.rewrite(item, &format!("{at}/{index}"), base));
                each.collect()
            }
            Value::Object(named) if NAMED.contains(&keyword) => {
                let each = named
                    .iter()
                    .map(|(name, one)| (name.clone(), self.rewrite(one, &format!("{at}/{}", escape(name)), base)));
                Value::Object(each.collect())
            }
            one => self.rewrite(one, at, base),
        }
    }

    /// A reference whose target depends on how it was reached keeps its keyword.
    fn refer(&self, written: &mut Map<String, Value>, keyword: &str, value: &Value, pointer: &str, base: &str) {
        let target = value.as_str().and_then(|reference| {
            let found = match keyword {
                "$ref" => self.references.resolve(pointer, reference, base),
                "$dynamicRef" => self.references.resolve_dynamic(pointer, reference, base),
                _ => self.references.resolve_recursive(pointer, reference, base),
            };
            found.ok().flatten()
        });
        match target {
            Some(target) if keyword == "$ref" || !written.contains_key("$ref") => {
                let address = format!("#{}{}", self.place, fragment(&target.pointer));
                written.insert("$ref".to_owned(), Value::String(address));
            }
            _ => drop(written.insert(keyword.to_owned(), value.clone())),
        }
    }
}

/// A pointer with what has no place in a fragment escaped.
fn fragment(pointer: &str) -> String {
    let mut written = String::with_capacity(pointer.len());
    for byte in pointer.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'$' | b':' => {
                written.push(char::from(byte));
            }
            _ => written.push_str(&format!("%{byte:02X}")),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, expected: Value) {
        assert_eq!(embed(&schema, "/a/schema"), expected);
    }

    #[test]
    fn references_become_pointers_from_the_root_of_the_document() {
        check(
            json!({"properties": {"n": {"$ref": "#/$defs/n"}, "next": {"$ref": "#"}}, "$defs": {"n": {"type": "integer"}}}),
            json!({"properties": {"n": {"$ref": "#/a/schema/$defs/n"}, "next": {"$ref": "#/a/schema"}}, "$defs": {"n": {"type": "integer"}}}),
        );
        check(
            json!({"items": [{"$ref": "#/$defs/a~1b%20c"}], "$defs": {"a/b c": true}}),
            json!({"items": [{"$ref": "#/a/schema/$defs/a~1b%20c"}], "$defs": {"a/b c": true}}),
        );
    }

    #[test]
    fn names_are_followed_and_go() {
        check(
            json!({"$id": "https://example.com/x", "anyOf": [{"$ref": "#here"}, {"$ref": "x#/$defs/n"}, {"$ref": "y"}],
                "$defs": {"n": {"$anchor": "here"}, "o": {"$id": "y", "$ref": "#/$defs/p", "$defs": {"p": true}}}}),
            json!({"anyOf": [{"$ref": "#/a/schema/$defs/n"}, {"$ref": "#/a/schema/$defs/n"}, {"$ref": "#/a/schema/$defs/o"}],
                "$defs": {"n": {}, "o": {"$ref": "#/a/schema/$defs/o/$defs/p", "$defs": {"p": true}}}}),
        );
        check(
            json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "items": {"$recursiveRef": "#"}}),
            json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "items": {"$ref": "#/a/schema"}}),
        );
    }

    #[test]
    fn what_only_looks_like_a_reference_or_leads_nowhere_stays() {
        for schema in [
            json!({"const": {"$ref": "#"}, "examples": [{"$id": "x"}]}),
            json!({"$ref": "elsewhere.json"}),
            json!(true),
        ] {
            check(schema.clone(), schema);
        }
        check(json!({"properties": {"$id": {"type": "string"}}}), json!({"properties": {"$id": {"type": "string"}}}));
    }
}
