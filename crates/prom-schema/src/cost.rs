//! What judging a document costs at the most, found from the schema alone.
//!
//! A validator cannot be stopped on the way, so the bound must be known before a schema is used. Each value of a document is
//! judged by the schemas that apply to its place. How many those are is the *width* of the schema; a document costs at most
//! its size times the width. Following all places also ends for recursive schemas, as long as the schemas that apply to a
//! place do not grow from level to level: where they do, as with two branches of an `anyOf` that both refer back below the
//! same property, judging takes exponential time, and the schema is refused.
//!
//! ```text
//!   {root} ──/left──▶ {node} ──/left──▶ {node}               known already: ends, width 1
//!   {root} ──/left──▶ {node, node} ──/left──▶ {node ×4} ──▶   grows: refused
//! ```

use std::collections::{BTreeSet, HashSet};
use std::ptr::from_ref;

use regex_automata::nfa::thompson;
use serde_json::{Map, Value};

use crate::compat::CompareError;
use crate::cost_names::SchemaNames;
use crate::draft::Draft;
use crate::error::SchemaError;
use crate::limits::{PATTERN_BACKTRACKS, PATTERN_PROGRAM_BYTES, PATTERNS_BYTES, WIDTH, WIDTH_STATES};
use crate::multiple;
use crate::references::{IndexedSchema, escape};

/// Keywords whose schemas judge the same place.
const HERE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const HERE: [&str; 4] = ["not", "if", "then", "else"];
const HERE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords whose schemas judge items that no list of schemas names.
const EVERY_ITEM: [&str; 4] = ["items", "additionalItems", "contains", "unevaluatedItems"];
const OTHER_PROPERTIES: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];

/// How much a schema's keywords weigh beside those that take one step.
const ENUM_VALUES_PER_STEP: usize = 8;
const UNIQUE_ITEMS_STEPS: usize = 16;
/// An exact division by a fraction takes about a microsecond, and a number in a list has two bytes.
const DIVISION_STEPS: usize = 128;
/// A string has at least three bytes with its quotes, and each may cost all steps back that are allowed.
const LOOK_AROUND_STEPS: usize = PATTERN_BACKTRACKS / 2;
/// Memory of a pattern with look-around, roughly.
const LOOK_AROUND_BYTES: usize = 32 * 1024;
/// `unevaluatedProperties` and `unevaluatedItems` ask the schemas beside them again which parts they looked at. Measured:
/// each such level takes about three times as long as the one below it.
const UNEVALUATED_TIMES: usize = 3;
const UNEVALUATED: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];

/// What a schema costs its users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SchemaCost {
    pub width: usize,
    /// Memory of its compiled patterns.
    pub pattern_bytes: usize,
}

/// What a schema costs, or why it is too costly.
pub(crate) fn cost(root: &Value) -> Result<SchemaCost, SchemaError> {
    check_drafts(root)?;
    let pattern_bytes = check_patterns(root)?;
    let width = Places { names: SchemaNames::of(root)?, known: HashSet::new(), widest: 1 }.follow(root)?;
    Ok(SchemaCost { width, pattern_bytes })
}

/// A document has one draft, which is read: in another one the same words may refer elsewhere.
fn check_drafts(root: &Value) -> Result<(), SchemaError> {
    let draft = match root.get("$schema").and_then(Value::as_str) {
        Some(uri) => Draft::named(uri).ok_or_else(|| {
            let reason = format!("`{uri}` is not a draft that is read: use 2020-12, 2019-09 or draft-07");
            SchemaError::Invalid { pointer: "/$schema".to_owned(), reason }
        })?,
        None => Draft::Draft202012,
    };
    let unusable = |error: CompareError| SchemaError::Invalid { pointer: String::new(), reason: error.to_string() };
    IndexedSchema::index(root, draft).map(drop).map_err(unusable)
}

/// Schemas that apply to one place, one of them perhaps several times.
type Applied<'s> = Vec<&'s Value>;

struct Places<'s> {
    names: SchemaNames<'s>,
    known: HashSet<Vec<*const Value>>,
    widest: usize,
}

impl<'s> Places<'s> {
    fn follow(mut self, root: &'s Value) -> Result<usize, SchemaError> {
        let mut open: Vec<(String, Applied<'s>)> = vec![(String::new(), vec![root])];
        while let Some((pointer, entered)) = open.pop() {
            let mut here = Vec::new();
            for schema in &entered {
                self.apply(schema, &pointer, &mut Vec::new(), &mut here)?;
            }
            self.widest = self.widest.max(here.iter().map(|schema| weight(schema)).sum());
            for (step, below) in children(&here) {
                if below.is_empty() {
                    continue;
                }
                let mut state: Vec<*const Value> = below.iter().map(|schema| from_ref(*schema)).collect();
                state.sort_unstable();
                if !self.known.insert(state) {
                    continue;
                }
                let pointer = format!("{pointer}/{step}");
                if self.known.len() > WIDTH_STATES || below.len() > WIDTH {
                    return Err(SchemaError::TooCostly { pointer, width: below.len() });
                }
                open.push((pointer, below));
            }
        }
        if self.widest > WIDTH * WIDTH {
            return Err(SchemaError::TooCostly { pointer: String::new(), width: self.widest });
        }
        Ok(self.widest)
    }

    /// Adds a schema and all that judge the same place through it.
    fn apply(
        &self,
        schema: &'s Value,
        pointer: &str,
        on_the_way: &mut Vec<*const Value>,
        here: &mut Applied<'s>,
    ) -> Result<(), SchemaError> {
        let Value::Object(members) = schema else {
            return Ok(());
        };
        if on_the_way.contains(&from_ref(schema)) {
            let reason = "a schema refers to itself without going deeper into the document".to_owned();
            return Err(SchemaError::Invalid { pointer: pointer.to_owned(), reason });
        }
        if here.len() >= WIDTH {
            return Err(SchemaError::TooCostly { pointer: pointer.to_owned(), width: here.len() });
        }
        here.push(schema);
        on_the_way.push(from_ref(schema));
        let lists = HERE_LISTS.iter().filter_map(|keyword| members.get(*keyword)?.as_array()).flatten();
        let plain = HERE.iter().filter_map(|keyword| members.get(*keyword));
        let maps = HERE_MAPS.iter().filter_map(|keyword| members.get(*keyword)?.as_object()).flat_map(Map::values);
        let asks_again = UNEVALUATED.iter().any(|keyword| members.contains_key(*keyword));
        let times = if asks_again { UNEVALUATED_TIMES } else { 1 };
        for below in lists.chain(plain).chain(maps).chain(self.names.referred(schema)?) {
            for _ in 0..times {
                self.apply(below, pointer, on_the_way, here)?;
            }
        }
        on_the_way.pop();
        Ok(())
    }
}

/// The places below, each with the schemas that apply there.
fn children<'s>(here: &[&'s Value]) -> Vec<(String, Applied<'s>)> {
    let objects: Vec<&'s Map<String, Value>> = here.iter().filter_map(|schema| schema.as_object()).collect();
    let mut places = Vec::new();
    let names: BTreeSet<&str> = objects
        .iter()
        .filter_map(|members| members.get("properties")?.as_object())
        .flat_map(Map::keys)
        .map(String::as_str)
        .collect();
    for name in names.iter().copied().map(Some).chain([None]) {
        let below = objects.iter().flat_map(|members| of_property(members, name)).collect();
        places.push((escape(name.unwrap_or("*")), below));
    }
    let longest = objects.iter().map(|members| listed_items(members).len()).max().unwrap_or(0);
    for at in 0..=longest {
        let below = objects.iter().flat_map(|members| of_item(members, at)).collect();
        places.push((at.to_string(), below));
    }
    let names_of_properties = objects.iter().filter_map(|members| members.get("propertyNames")).collect();
    places.push(("*".to_owned(), names_of_properties));
    places
}

/// Every pattern is taken to match every name.
fn of_property<'s>(members: &'s Map<String, Value>, name: Option<&str>) -> Applied<'s> {
    let mut below: Applied<'s> = Vec::new();
    let declared = name.and_then(|name| members.get("properties")?.get(name));
    below.extend(declared);
    below.extend(members.get("patternProperties").and_then(Value::as_object).into_iter().flat_map(Map::values));
    if declared.is_none() {
        below.extend(OTHER_PROPERTIES.iter().filter_map(|keyword| members.get(*keyword)));
    }
    below
}

/// `prefixItems`, or `items` as a list, as it was before 2020-12.
fn listed_items(members: &Map<String, Value>) -> &[Value] {
    let list = |keyword: &str| members.get(keyword).and_then(Value::as_array);
    list("prefixItems").or_else(|| list("items")).map_or(&[], Vec::as_slice)
}

fn of_item<'s>(members: &'s Map<String, Value>, at: usize) -> Applied<'s> {
    let listed = listed_items(members).get(at);
    let every = EVERY_ITEM.iter().filter_map(|keyword| members.get(*keyword));
    match listed {
        Some(listed) => vec![listed].into_iter().chain(members.get("contains")).collect(),
        None => every.filter(|schema| !schema.is_array()).collect(),
    }
}

/// Each byte of a string may be held against every state of the expression: `a[ab]{3000}c` is short and takes three
/// thousand steps per byte. One with look-around goes back as often as it may; one that cannot be read is left to the
/// compiler to refuse.
fn regex_weight(pattern: &str) -> usize {
    program_of(pattern).map_or(LOOK_AROUND_STEPS, |program| program.states().len())
}

/// `None` for a pattern with look-around, one that is too large, and one that is none.
fn program_of(pattern: &str) -> Option<thompson::NFA> {
    let translated = jsonschema_regex::to_rust_regex(pattern).ok()?;
    let limit = thompson::Config::new().nfa_size_limit(Some(PATTERN_PROGRAM_BYTES));
    thompson::Compiler::new().configure(limit).build(&translated).ok()
}

/// Patterns are compiled once each and kept: many of them, each below its limit, would fill the memory of the hub. Gives what they
/// take together.
fn check_patterns(root: &Value) -> Result<usize, SchemaError> {
    let mut patterns = BTreeSet::new();
    collect_patterns(root, &mut patterns);
    let mut bytes = 0;
    for pattern in patterns {
        bytes += program_of(pattern).map_or(LOOK_AROUND_BYTES, |program| program.memory_usage());
        if bytes > PATTERNS_BYTES {
            let what = "size of its compiled patterns";
            return Err(SchemaError::TooLarge { what, size: bytes, limit: PATTERNS_BYTES });
        }
    }
    Ok(bytes)
}

fn collect_patterns<'s>(value: &'s Value, patterns: &mut BTreeSet<&'s str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_patterns(item, patterns)),
        Value::Object(members) => {
            patterns.extend(members.get("pattern").and_then(Value::as_str));
            let names = members.get("patternProperties").and_then(Value::as_object);
            patterns.extend(names.into_iter().flat_map(Map::keys).map(String::as_str));
            members.values().for_each(|below| collect_patterns(below, patterns));
        }
        _ => {}
    }
}

fn weight(schema: &Value) -> usize {
    let Value::Object(members) = schema else {
        return 1;
    };
    let pattern = members.get("pattern").and_then(Value::as_str).map_or(0, regex_weight);
    let names = members.get("patternProperties").and_then(Value::as_object);
    let names: usize = names.into_iter().flat_map(Map::keys).map(|pattern| regex_weight(pattern)).sum();
    let choices = members.get("enum").and_then(Value::as_array).map_or(0, |values| values.len() / ENUM_VALUES_PER_STEP);
    let unique = if members.get("uniqueItems") == Some(&Value::Bool(true)) { UNIQUE_ITEMS_STEPS } else { 0 };
    let divides = members.get("multipleOf").is_some_and(|unit| !multiple::is_quick(unit));
    1 + pattern + names + choices + unique + if divides { DIVISION_STEPS } else { 0 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn width(root: &Value) -> Result<usize, SchemaError> {
        cost(root).map(|cost| cost.width)
    }

    #[test]
    fn a_plain_object_has_a_small_width_however_many_properties_it_has() {
        let properties: Map<String, Value> =
            (0..300).map(|at| (format!("p{at}"), json!({"type": "integer", "minimum": 0}))).collect();
        assert_eq!(width(&json!({"type": "object", "properties": properties})).unwrap(), 1);
        assert_eq!(width(&json!({"anyOf": [{"type": "string"}, {"type": "null"}]})).unwrap(), 3);
    }

    #[test]
    fn trees_and_lists_end() {
        let tree = json!({"$defs": {"node": {"type": "object", "properties": {
            "left": {"$ref": "#/$defs/node"}, "right": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            "items": {"items": {"$ref": "#/$defs/node"}}}}}, "$ref": "#/$defs/node"});
        assert!(width(&tree).unwrap() < 8);
        let closed = json!({"properties": {"a": {"$ref": "#"}}, "additionalProperties": {"$ref": "#"}});
        assert_eq!(width(&closed).unwrap(), 2);
        let by_name = json!({"$defs": {"other": {"$id": "o.json", "items": {"$ref": "o.json"}}}, "$ref": "o.json"});
        assert_eq!(width(&by_name).unwrap(), 2);
    }

    #[test]
    fn branches_that_multiply_from_level_to_level_are_refused() {
        let twice = json!({"anyOf": [{"properties": {"x": {"$ref": "#"}}}, {"properties": {"x": {"$ref": "#"}}}]});
        assert!(matches!(width(&twice), Err(SchemaError::TooCostly { .. })));
        let doubled = (0..12).fold(json!({"type": "string"}), |inner, _| json!({"allOf": [inner, inner]}));
        assert!(matches!(width(&doubled), Err(SchemaError::TooCostly { .. })));
        let distinct = json!({"anyOf": [{"properties": {"x": {"$ref": "#"}}}, {"properties": {"y": {"$ref": "#"}}}]});
        assert_eq!(width(&distinct).unwrap(), 4);
    }

    #[test]
    fn branches_that_multiply_are_refused_however_they_refer_back() {
        let twice = |reference: &str| {
            json!({"anyOf": [
            {"properties": {"x": {"$ref": reference}}}, {"properties": {"x": {"$ref": reference}}}]})
        };
        let escaped = json!({"$defs": {"n": twice("#/%24defs/n")}, "$ref": "#/$defs/n"});
        let below = json!({"$id": "b.json", "$defs": {"n": twice("#/$defs/n")}, "$ref": "#/$defs/n"});
        let embedded = json!({"$defs": {"b": below}, "$ref": "b.json"});
        let mut named = twice("https://example.com/b.json");
        named["$id"] = "b.json".into();
        let joined = json!({"$id": "https://example.com/a.json", "$defs": {"b": named}, "$ref": "b.json"});
        let mut dynamic = json!({"$dynamicAnchor": "n", "anyOf": [
            {"properties": {"x": {"$dynamicRef": "#n"}}}, {"properties": {"x": {"$dynamicRef": "#n"}}}]});
        dynamic["$id"] = "https://example.com/a.json".into();
        for schema in [escaped, embedded, joined, dynamic] {
            assert!(matches!(width(&schema), Err(SchemaError::TooCostly { .. })), "{schema}");
        }
    }

    #[test]
    fn a_draft_that_is_not_read_and_two_drafts_in_one_are_refused() {
        let old = json!({"$schema": "http://json-schema.org/draft-04/schema#"});
        let mixed = json!({"$defs": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}});
        for schema in [old, mixed] {
            assert!(matches!(width(&schema), Err(SchemaError::Invalid { .. })), "{schema}");
        }
    }

    #[test]
    fn a_schema_that_never_goes_deeper_is_refused() {
        for endless in
            [json!({"$ref": "#"}), json!({"allOf": [{"$ref": "#"}]}), json!({"not": {"anyOf": [{"$ref": "#"}]}})]
        {
            assert!(matches!(width(&endless), Err(SchemaError::Invalid { .. })), "{endless}");
        }
    }

    /// The validator finds these too, so what is not followed here would be judged without a bound.
    #[test]
    fn references_are_followed_however_they_are_written() {
        let twice = |reference: &str| {
            let part = json!({"properties": {"x": {"$ref": reference}}});
            json!({"type": "object", "anyOf": [part, part]})
        };
        let named = |inside: Value| json!({"$id": "https://a.example/a", "$ref": "b", "$defs": {"n": inside}});
        let with_id = |mut schema: Value| {
            schema["$id"] = json!("b");
            schema
        };
        for schema in [
            json!({"$ref": "#/%24defs/n", "$defs": {"n": twice("#/%24defs/n")}}),
            named(with_id(twice("https://a.example/b"))),
            named(with_id(twice("./b"))),
            named(with_id(twice("x/../b"))),
            named(with_id(twice("#"))),
            named(json!({"$id": "b", "$ref": "#/$defs/q", "$defs": {"q": twice("#/$defs/q")}})),
            json!({"$ref": "#/other/n", "other": {"$id": "https://a.example/c", "n": twice("#/other/n")}}),
        ] {
            assert!(width(&schema).is_err(), "{schema}");
        }
        assert!(matches!(width(&json!({"$ref": "nowhere"})), Err(SchemaError::Elsewhere { .. })));
        // Two resources may use the same name for different things.
        let apart = json!({"$ref": "t", "$defs": {"x": {"$ref": "t"}, "t": {
            "$id": "t", "$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}}}});
        assert!(width(&apart).is_ok());
    }

    #[test]
    fn schemas_that_ask_again_what_was_looked_at_are_refused_where_they_nest() {
        for (inner, keyword) in [
            (json!({"properties": {"z": true}}), "unevaluatedProperties"),
            (json!({"prefixItems": [true]}), "unevaluatedItems"),
        ] {
            let nested = |levels: usize| {
                (0..levels).fold(inner.clone(), |below, _| json!({"allOf": [below], keyword: {"type": "integer"}}))
            };
            assert!(width(&nested(2)).unwrap() < 20);
            assert!(matches!(width(&nested(16)), Err(SchemaError::TooCostly { .. })), "{keyword}");
        }
    }

    #[test]
    fn a_pattern_weighs_what_it_stands_for_and_not_what_is_written() {
        assert!(width(&json!({"pattern": "a[ab]{3000}c"})).unwrap() > 3_000);
        assert!(width(&json!({"patternProperties": {"(a|b)*a(a|b){500}c": true}})).unwrap() > 500);
        assert!(width(&json!({"pattern": "^[0-9a-f]{8}-[0-9a-f]{4}$"})).unwrap() < 64);
    }

    #[test]
    fn many_patterns_are_refused_by_what_they_take_together() {
        let with = |count: usize, pattern: fn(usize) -> String| {
            let one = |at: usize| (format!("p{at}"), json!({"type": "string", "pattern": pattern(at)}));
            json!({"properties": (0..count).map(one).collect::<Map<String, Value>>()})
        };
        let large = |at: usize| format!("^([a-z]{{1,60}}[0-9]{{1,60}}){{1,8}}{at}$");
        assert!(
            matches!(width(&with(2000, large)), Err(SchemaError::TooLarge { what, .. }) if what.contains("patterns"))
        );
        assert!(width(&with(300, |at| format!("^[a-z]{{1,20}}-{at}$"))).is_ok());
    }

    #[test]
    fn many_constants_are_pointed_to_an_enumeration() {
        let constants =
            json!({"properties": {"a": {"anyOf": (0..300).map(|at| json!({"const": at})).collect::<Vec<_>>()}}});
        let told = width(&constants).unwrap_err().to_string();
        assert!(told.contains(": /a is judged by 256 parts") && told.contains("into one `enum`"), "{told}");
        let told = width(&constants["properties"]["a"]).unwrap_err().to_string();
        assert!(told.contains(": one value is judged by 256 parts"), "{told}");
    }

    #[test]
    fn long_patterns_and_enumerations_weigh_more() {
        assert!(width(&json!({"pattern": "x".repeat(800)})).unwrap() > 100);
        assert!(width(&json!({"enum": (0..800).collect::<Vec<_>>()})).unwrap() > 100);
    }
}
