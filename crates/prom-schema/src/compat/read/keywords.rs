//! Reads the keywords of one subschema. What the three drafts spell differently comes out the same.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::Reader;
use crate::compat::equal::ListedValues;
use crate::compat::error::CompareError;
use crate::compat::node::{
    Bound, Clause, Covered, Items, Keyword, Members, NodeId, NumberType, Type, Types, Unevaluated,
};
use crate::compat::number::Exact;
use crate::compat::settings::Formats;
use crate::draft::Draft;
use crate::limits::{NUMBER_DIGITS, PATTERN_BYTES};
use crate::references::escape;

/// The subschema whose keywords are read.
#[derive(Clone, Copy)]
struct Place<'d, 'p> {
    pointer: &'p str,
    members: &'d Map<String, Value>,
    base: &'p str,
}

impl<'d> Reader<'_, 'd> {
    pub(super) fn keywords(
        &mut self,
        pointer: &str,
        members: &'d Map<String, Value>,
        base: &str,
        clauses: &mut Vec<Clause>,
    ) -> Result<(), CompareError> {
        let place = Place { pointer, members, base };
        let mut keep = |name, keyword: Option<Keyword>| clauses.extend(keyword.map(|keyword| Clause { keyword, name }));
        keep("type", members.get("type").map(types));
        let listed = |values: Vec<Value>| Keyword::Enum(Rc::new(ListedValues::new(values)));
        keep("enum", members.get("enum").and_then(Value::as_array).cloned().map(listed));
        keep("const", members.get("const").map(|value| listed(vec![value.clone()])));
        self.numbers(place, &mut keep)?;
        self.strings(place, &mut keep)?;
        self.arrays(place, &mut keep)?;
        self.objects(place, &mut keep)?;
        self.combinations(place, &mut keep)
    }

    fn numbers(
        &mut self,
        place: Place<'d, '_>,
        keep: &mut impl FnMut(&'static str, Option<Keyword>),
    ) -> Result<(), CompareError> {
        let number = |name: &str| exact(place, name);
        keep("minimum", number("minimum")?.map(|bound| Keyword::Minimum(bound, Bound::Inclusive)));
        keep("exclusiveMinimum", number("exclusiveMinimum")?.map(|bound| Keyword::Minimum(bound, Bound::Exclusive)));
        keep("maximum", number("maximum")?.map(|bound| Keyword::Maximum(bound, Bound::Inclusive)));
        keep("exclusiveMaximum", number("exclusiveMaximum")?.map(|bound| Keyword::Maximum(bound, Bound::Exclusive)));
        keep("multipleOf", number("multipleOf")?.map(Keyword::MultipleOf));
        Ok(())
    }

    fn strings(
        &mut self,
        place: Place<'d, '_>,
        keep: &mut impl FnMut(&'static str, Option<Keyword>),
    ) -> Result<(), CompareError> {
        keep("minLength", count(place, "minLength").map(Keyword::MinLength));
        keep("maxLength", count(place, "maxLength").map(Keyword::MaxLength));
        if let Some(Value::String(pattern)) = place.members.get("pattern") {
            let at = format!("{}/pattern", place.pointer);
            check_pattern(&at, pattern)?;
            keep("pattern", Some(Keyword::Pattern(self.arena.patterns.intern(pattern))));
        }
        if let (Some(Value::String(format)), Formats::Assert) = (place.members.get("format"), self.formats)
            && self.draft.knows_format(format)
        {
            keep("format", Some(Keyword::Format(format.clone())));
        }
        Ok(())
    }

    fn arrays(
        &mut self,
        place: Place<'d, '_>,
        keep: &mut impl FnMut(&'static str, Option<Keyword>),
    ) -> Result<(), CompareError> {
        keep("minItems", count(place, "minItems").map(Keyword::MinItems));
        keep("maxItems", count(place, "maxItems").map(Keyword::MaxItems));
        let unique = place.members.get("uniqueItems") == Some(&Value::Bool(true));
        keep("uniqueItems", unique.then_some(Keyword::Unique));
        let items = self.items(place)?;
        keep("items", (!items.prefix.is_empty() || items.rest.is_some()).then_some(Keyword::Items(items)));
        if let Some(node) = self.part(place, "contains")? {
            let later = self.draft != Draft::Draft7;
            let min = count(place, "minContains").filter(|_| later).unwrap_or(1);
            let max = count(place, "maxContains").filter(|_| later).unwrap_or(u64::MAX);
            keep("contains", Some(Keyword::Contains { node, min, max }));
        }
        if let Some(node) = self.part(place, "unevaluatedItems")?.filter(|_| self.draft != Draft::Draft7) {
            keep("unevaluatedItems", Some(Keyword::UnevaluatedItems(Box::new(unevaluated(node)))));
        }
        Ok(())
    }

    fn items(&mut self, place: Place<'d, '_>) -> Result<Items, CompareError> {
        if self.draft == Draft::Draft202012 {
            return Ok(Items { prefix: self.parts(place, "prefixItems")?, rest: self.part(place, "items")? });
        }
        if place.members.get("items").is_some_and(Value::is_array) {
            return Ok(Items { prefix: self.parts(place, "items")?, rest: self.part(place, "additionalItems")? });
        }
        Ok(Items { prefix: Vec::new(), rest: self.part(place, "items")? })
    }

    fn objects(
        &mut self,
        place: Place<'d, '_>,
        keep: &mut impl FnMut(&'static str, Option<Keyword>),
    ) -> Result<(), CompareError> {
        let required = strings(place.members.get("required"));
        keep("required", (!required.is_empty()).then_some(Keyword::Required(required)));
        keep("minProperties", count(place, "minProperties").map(Keyword::MinProperties));
        keep("maxProperties", count(place, "maxProperties").map(Keyword::MaxProperties));
        keep("propertyNames", self.part(place, "propertyNames")?.map(Keyword::PropertyNames));
        let mut patterns = Vec::new();
        for (text, node) in self.named(place, "patternProperties")? {
            check_pattern(&format!("{}/patternProperties/{}", place.pointer, escape(&text)), &text)?;
            patterns.push((self.arena.patterns.intern(&text), text, node));
        }
        let named = self.named(place, "properties")?;
        let additional = self.part(place, "additionalProperties")?;
        let speaks = !named.is_empty() || !patterns.is_empty() || additional.is_some();
        keep("properties", speaks.then_some(Keyword::Members(Rc::new(Members { named, patterns, additional }))));
        self.dependencies(place, keep)?;
        if let Some(node) = self.part(place, "unevaluatedProperties")?.filter(|_| self.draft != Draft::Draft7) {
            keep("unevaluatedProperties", Some(Keyword::UnevaluatedProperties(Box::new(unevaluated(node)))));
        }
        Ok(())
    }

    fn dependencies(
        &mut self,
        place: Place<'d, '_>,
        keep: &mut impl FnMut(&'static str, Option<Keyword>),
    ) -> Result<(), CompareError> {
        if self.draft != Draft::Draft7 {
            let required = name_lists(place.members.get("dependentRequired"));
            keep("dependentRequired", (!required.is_empty()).then_some(Keyword::DependentRequired(required)));
            let schemas = self.named(place, "dependentSchemas")?;
            keep("dependentSchemas", (!schemas.is_empty()).then_some(Keyword::DependentSchemas(schemas)));
        }
        // The validator reads the old keyword in the later drafts too.
        let required = name_lists(place.members.get("dependencies"));
        keep("dependencies", (!required.is_empty()).then_some(Keyword::DependentRequired(required)));
        let schemas = self.named(place, "dependencies")?;
        keep("dependencies", (!schemas.is_empty()).then_some(Keyword::DependentSchemas(schemas)));
        Ok(())
    }

    fn combinations(
        &mut self,
        place: Place<'d, '_>,
        keep: &mut impl FnMut(&'static str, Option<Keyword>),
    ) -> Result<(), CompareError> {
        let some = |parts: Vec<NodeId>| (!parts.is_empty()).then_some(parts);
        keep("allOf", some(self.parts(place, "allOf")?).map(Keyword::AllOf));
        keep("anyOf", some(self.parts(place, "anyOf")?).map(Keyword::AnyOf));
        keep("oneOf", some(self.parts(place, "oneOf")?).map(Keyword::OneOf));
        keep("not", self.part(place, "not")?.map(Keyword::Not));
        if let Some(condition) = self.part(place, "if")? {
            let (then, otherwise) = (self.part(place, "then")?, self.part(place, "else")?);
            keep("if", Some(Keyword::If { condition, then, otherwise }));
        }
        Ok(())
    }

    fn part(&mut self, place: Place<'d, '_>, name: &str) -> Result<Option<NodeId>, CompareError> {
        let Some(schema) = place.members.get(name) else { return Ok(None) };
        self.node(&format!("{}/{name}", place.pointer), schema, place.base).map(Some)
    }

    fn parts(&mut self, place: Place<'d, '_>, name: &str) -> Result<Vec<NodeId>, CompareError> {
        let Some(Value::Array(schemas)) = place.members.get(name) else { return Ok(Vec::new()) };
        let at = |index| format!("{}/{name}/{index}", place.pointer);
        schemas.iter().enumerate().map(|(index, schema)| self.node(&at(index), schema, place.base)).collect()
    }

    /// The schemas of an object of schemas; arrays of names among them are left out.
    fn named(&mut self, place: Place<'d, '_>, name: &str) -> Result<BTreeMap<String, NodeId>, CompareError> {
        let mut nodes = BTreeMap::new();
        if let Some(Value::Object(schemas)) = place.members.get(name) {
            for (key, schema) in schemas.iter().filter(|(_, schema)| !schema.is_array()) {
                let at = format!("{}/{name}/{}", place.pointer, escape(key));
                nodes.insert(key.clone(), self.node(&at, schema, place.base)?);
            }
        }
        Ok(nodes)
    }
}

fn types(value: &Value) -> Keyword {
    let mut types = Types { others: BTreeSet::new(), number: NumberType::None };
    let names = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    for name in names.iter().filter_map(Value::as_str) {
        let other = match name {
            "null" => Type::Null,
            "boolean" => Type::Boolean,
            "string" => Type::String,
            "array" => Type::Array,
            "object" => Type::Object,
            "integer" => {
                types.number = types.number.max(NumberType::Integer);
                continue;
            }
            _ => {
                types.number = NumberType::Any;
                continue;
            }
        };
        types.others.insert(other);
    }
    Keyword::Types(types)
}

fn exact(place: Place<'_, '_>, name: &str) -> Result<Option<Exact>, CompareError> {
    let Some(Value::Number(number)) = place.members.get(name) else { return Ok(None) };
    let too_long = || CompareError::NumberTooLong { pointer: format!("{}/{name}", place.pointer), max: NUMBER_DIGITS };
    Exact::read(number).map(Some).ok_or_else(too_long)
}

/// A count may be written `2.0`, and may be larger than anything that can be counted.
fn count(place: Place<'_, '_>, name: &str) -> Option<u64> {
    let number = place.members.get(name)?;
    number.as_u64().or_else(|| number.as_f64().map(|float| float as u64))
}

fn check_pattern(at: &str, pattern: &str) -> Result<(), CompareError> {
    if pattern.len() > PATTERN_BYTES {
        return Err(CompareError::PatternTooLarge { pointer: at.to_owned(), bytes: pattern.len(), max: PATTERN_BYTES });
    }
    if !jsonschema_regex::is_valid_ecma_regex(pattern) && jsonschema_regex::to_rust_regex(pattern).is_err() {
        return Err(CompareError::Pattern { pointer: at.to_owned(), pattern: pattern.to_owned() });
    }
    Ok(())
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn name_lists(value: Option<&Value>) -> BTreeMap<String, Vec<String>> {
    let lists = value.and_then(Value::as_object).into_iter().flatten().filter(|(_, names)| names.is_array());
    lists.map(|(name, names)| (name.clone(), strings(Some(names)))).collect()
}

/// Filled in when the whole document is read.
fn unevaluated(node: NodeId) -> Unevaluated {
    Unevaluated { node, sure: Covered::default(), maybe: Covered::default() }
}
