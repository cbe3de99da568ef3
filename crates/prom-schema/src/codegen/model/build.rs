//! From keywords to types.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::document::CodegenDocument;
use super::settle;
use super::{
    ArrayType, Deprecated, DocText, IntegerRange, IntegerSize, ModelType, ObjectType, Presence, PropertyType, RestType,
    Sign, TypeDefinition, TypeModel,
};
use crate::draft::Draft;

/// Integers beyond this are not exact as doubles.
const SAFE: f64 = 9_007_199_254_740_991.0;

const KINDS: [&str; 6] = ["null", "boolean", "number", "string", "array", "object"];

/// Work on one schema, in types that are looked at. What is left over is taken as it is, which is wider.
const WORK: usize = 200_000;

pub(in super::super) fn build(document: &CodegenDocument<'_>) -> TypeModel {
    let mut builder = TypeBuilder { document, work: WORK };
    let root = settle::settle(&builder.type_of(document.root()), document);
    let mut definitions = BTreeMap::new();
    let mut wanted = settle::references(&root);
    while let Some(pointer) = wanted.pop() {
        if pointer.is_empty() || definitions.contains_key(&pointer) {
            continue;
        }
        let schema = document.root().pointer(&pointer).unwrap_or(&Value::Bool(true));
        let ty = settle::settle(&builder.type_of(schema), document);
        wanted.extend(settle::references(&ty));
        definitions.insert(pointer, TypeDefinition { ty, about: doc_text(schema) });
    }
    let notes = settle::notes(document, &root);
    TypeModel { root, about: doc_text(document.root()), definitions, notes }
}

pub(super) struct TypeBuilder<'d, 's> {
    pub document: &'d CodegenDocument<'s>,
    pub work: usize,
}

impl TypeBuilder<'_, '_> {
    pub fn type_of(&mut self, schema: &Value) -> ModelType {
        match schema {
            Value::Bool(false) => ModelType::Never,
            Value::Object(map) => self.type_of_map(map),
            _ => ModelType::Any,
        }
    }

    fn type_of_map(&mut self, map: &Map<String, Value>) -> ModelType {
        let referenced =
            map.get("$ref").filter(|reference| reference.is_string()).map(|reference| self.reference(reference));
        let mut ty = match referenced {
            Some(target) if self.document.draft == Draft::Draft7 => return target,
            Some(target) => {
                let own = self.base(map);
                self.intersect(&target, &own)
            }
            None => self.base(map),
        };
        if let Some(values) = map.get("enum").and_then(Value::as_array) {
            let listed = ModelType::union(values.iter().map(literal));
            ty = self.intersect(&ty, &listed);
        }
        if let Some(value) = map.get("const") {
            ty = self.intersect(&ty, &literal(value));
        }
        for branch in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let branch = self.type_of(branch);
            ty = self.intersect(&ty, &branch);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(branches) = map.get(keyword).and_then(Value::as_array) {
                let branches: Vec<_> = branches.iter().map(|branch| self.type_of(branch)).collect();
                ty = self.intersect(&ty, &ModelType::union(branches));
            }
        }
        ty
    }

    fn reference(&self, reference: &Value) -> ModelType {
        match self.document.resolve(reference) {
            Some(target) => ModelType::Reference(self.document.pointer(target).to_owned()),
            None => ModelType::Any,
        }
    }

    /// What `type` and the keywords of one kind of value say.
    fn base(&mut self, map: &Map<String, Value>) -> ModelType {
        let kinds: Vec<&str> = match map.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ if speaks_of(map, &OBJECT_WORDS) || speaks_of(map, &ARRAY_WORDS) => KINDS.to_vec(),
            _ => return ModelType::Any,
        };
        let types: Vec<ModelType> = kinds.into_iter().map(|kind| self.kind(kind, map)).collect();
        ModelType::union(types)
    }

    fn kind(&mut self, kind: &str, map: &Map<String, Value>) -> ModelType {
        match kind {
            "null" => ModelType::Null,
            "boolean" => ModelType::Boolean,
            "integer" => ModelType::Integer(integer_range(map)),
            "number" => ModelType::Number,
            "string" => ModelType::Text,
            "array" => ModelType::Array(self.array(map)),
            "object" => self.object(map),
            _ => ModelType::Any,
        }
    }

    fn array(&mut self, map: &Map<String, Value>) -> ArrayType {
        let (prefix, rest) = self.document.items(map);
        let prefix: Vec<ModelType> = prefix.iter().map(|item| self.type_of(item)).collect();
        let mut rest = rest.map_or(ModelType::Any, |rest| self.type_of(rest));
        let count = |keyword: &str| map.get(keyword).and_then(whole).and_then(|count| usize::try_from(count).ok());
        if count("maxItems").is_some_and(|most| most <= prefix.len()) {
            rest = ModelType::Never;
        }
        ArrayType { prefix, rest: Box::new(rest), least: count("minItems").unwrap_or(0) }
    }

    fn object(&mut self, map: &Map<String, Value>) -> ModelType {
        let rest = self.rest(map);
        let mut properties = BTreeMap::new();
        for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let property =
                PropertyType { ty: self.type_of(schema), presence: Presence::Optional, about: doc_text(schema) };
            properties.insert(name.clone(), property);
        }
        for name in map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            let unnamed = || PropertyType { ty: rest.ty(), presence: Presence::Required, about: DocText::default() };
            properties.entry(name.to_owned()).or_insert_with(unnamed).presence = Presence::Required;
        }
        ObjectType { properties, rest }.or_never()
    }

    /// A property without a name in the schema matches a pattern or is additional.
    fn rest(&mut self, map: &Map<String, Value>) -> RestType {
        let additional = map.get("additionalProperties").map(|schema| self.type_of(schema));
        let patterns = map.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
        // Sorted: whether a map keeps the order of its keys is decided by a feature of another crate.
        let patterns: BTreeMap<&String, &Value> = patterns.collect();
        let patterns: Vec<ModelType> = patterns.into_values().map(|schema| self.type_of(schema)).collect();
        match (additional, patterns.is_empty()) {
            (None, true) => RestType::Unsaid,
            (Some(ModelType::Never), true) => RestType::Closed,
            (Some(ty), true) => RestType::Typed(Box::new(ty)),
            (additional, false) => {
                let additional = additional.unwrap_or(ModelType::Any);
                RestType::Typed(Box::new(ModelType::union(patterns.into_iter().chain([additional]))))
            }
        }
    }
}

impl RestType {
    /// Of a property that falls under it.
    pub fn ty(&self) -> ModelType {
        match self {
            RestType::Unsaid => ModelType::Any,
            RestType::Closed => ModelType::Never,
            RestType::Typed(ty) => (**ty).clone(),
        }
    }
}

impl ObjectType {
    /// No object has a required property without a value.
    pub fn or_never(self) -> ModelType {
        let impossible =
            |property: &PropertyType| property.presence == Presence::Required && property.ty == ModelType::Never;
        if self.properties.values().any(impossible) { ModelType::Never } else { ModelType::Object(self) }
    }
}

const OBJECT_WORDS: [&str; 4] = ["properties", "required", "additionalProperties", "patternProperties"];
const ARRAY_WORDS: [&str; 5] = ["items", "prefixItems", "additionalItems", "minItems", "maxItems"];

fn speaks_of(map: &Map<String, Value>, words: &[&str]) -> bool {
    words.iter().any(|word| map.contains_key(*word))
}

/// One value. Null is a kind of its own.
fn literal(value: &Value) -> ModelType {
    match value {
        Value::Null => ModelType::Null,
        other => ModelType::Literal(other.clone()),
    }
}

fn integer_range(map: &Map<String, Value>) -> IntegerRange {
    let bound = |keyword: &str| map.get(keyword).and_then(Value::as_f64);
    let lowest = [bound("minimum"), bound("exclusiveMinimum").map(|bound| bound + 1.0)];
    let not_negative = lowest.into_iter().flatten().any(|bound| bound > -1.0);
    let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"].into_iter().filter_map(bound);
    let is_large = bounds.into_iter().any(|bound| bound.abs() > SAFE)
        || map.get("format").and_then(Value::as_str).is_some_and(|format| ["int64", "uint64"].contains(&format));
    IntegerRange {
        sign: if not_negative { Sign::NotNegative } else { Sign::Any },
        size: if is_large { IntegerSize::Large } else { IntegerSize::Usual },
    }
}

/// A count may be written `2.0`.
pub(in super::super) fn whole(value: &Value) -> Option<u64> {
    match value.as_u64() {
        Some(count) => Some(count),
        None => value.as_f64().filter(|count| *count >= 0.0 && count.fract() == 0.0).map(|count| count as u64),
    }
}

pub(super) fn doc_text(schema: &Value) -> DocText {
    let text = |keyword: &str| schema.get(keyword).and_then(Value::as_str).map(str::to_owned);
    let is_deprecated = schema.get("deprecated").and_then(Value::as_bool) == Some(true);
    DocText { title: text("title"), description: text("description"), deprecated: is_deprecated.then_some(Deprecated) }
}
