//! Enums: strings from a list, and values of several types.
//!
//! serde takes the first variant that fits, so the narrow ones stand first: lists of strings, closed objects, objects with more
//! required properties.

use serde_json::Value;

use super::super::model::{ModelType, ObjectType, Presence, RestType};
use super::super::names::{self, NameBook};
use super::super::text;
use super::identifier;
use super::items::{DERIVE, ItemWriter, Storage};

/// A variant: how narrow it is, its name, its type.
type Variant = (Vec<usize>, String, String);

impl ItemWriter<'_> {
    /// The enum that a type is; nothing if one Rust type holds all of it.
    pub fn enumeration(&mut self, ty: &ModelType, name: &str) -> Option<String> {
        if let Some(listed) = strings(ty.members()) {
            return Some(string_enum(&listed, name));
        }
        if ty.members().contains(&ModelType::Null) || self.only_type(ty, name, Storage::Inline).is_some() {
            return None;
        }
        let mut code = format!("{DERIVE}#[serde(untagged)]\npub enum {name} {{\n");
        let mut book = NameBook::with_reserved(&["Self"]);
        for (_, variant, printed) in self.variants(ty, name) {
            code.push_str(&format!("    {}({printed}),\n", book.take(&variant)));
        }
        Some(code + "}\n")
    }

    /// The one type that holds all members: `1 | 2` is an `i64`, and `"a" | string` a `String`.
    pub fn only_type(&mut self, ty: &ModelType, hint: &str, storage: Storage) -> Option<String> {
        let ModelType::Union(members) = ty else {
            return None;
        };
        if strings(members).is_some() {
            return None;
        }
        match merged(members).as_slice() {
            [only] if !matches!(only, ModelType::Literal(Value::String(_)) | ModelType::Object(_)) => {
                Some(self.print(only, hint, storage))
            }
            _ => None,
        }
    }

    fn variants(&mut self, ty: &ModelType, name: &str) -> Vec<Variant> {
        let mut variants: Vec<Variant> = Vec::new();
        let merged = merged(ty.members());
        let (listed, others): (Vec<_>, Vec<_>) = merged.into_iter().partition(|member| string(member).is_some());
        if !listed.is_empty() {
            let printed = self.print(&ModelType::union(listed), &format!("{name}Choice"), Storage::Inline);
            variants.push((vec![0], "Choice".to_owned(), printed));
        }
        for member in &others {
            let variant = self.variant_name(member);
            let printed = self.print(member, &format!("{name}{variant}"), Storage::Inline);
            if variants.iter().all(|(_, _, known)| *known != printed) {
                variants.push((self.rank(member), variant, printed));
            }
        }
        variants.sort_by(|one, other| one.0.cmp(&other.0));
        variants
    }

    fn variant_name(&self, ty: &ModelType) -> String {
        match ty {
            ModelType::Boolean | ModelType::Literal(Value::Bool(_)) => "Boolean".to_owned(),
            ModelType::Integer(_) => "Integer".to_owned(),
            ModelType::Number | ModelType::Literal(Value::Number(_)) => "Number".to_owned(),
            ModelType::Text => "Text".to_owned(),
            ModelType::Array(_) | ModelType::Literal(Value::Array(_)) => "List".to_owned(),
            ModelType::Object(object) => object_name(object),
            ModelType::Reference(pointer) if pointer.is_empty() => "Whole".to_owned(),
            ModelType::Reference(pointer) => names::of_pointer(pointer),
            _ => "Other".to_owned(),
        }
    }

    /// Lower is narrower.
    fn rank(&self, ty: &ModelType) -> Vec<usize> {
        match ty {
            ModelType::Boolean | ModelType::Literal(Value::Bool(_)) => vec![1],
            ModelType::Integer(range) => vec![2, usize::from(range.sign == super::super::model::Sign::Any)],
            ModelType::Literal(Value::Number(number)) if !number.is_f64() => vec![2, 1],
            ModelType::Number | ModelType::Literal(Value::Number(_)) => vec![3],
            ModelType::Text => vec![4],
            ModelType::Array(array) => {
                vec![5, usize::MAX - array.prefix.len(), usize::from(*array.rest == ModelType::Any)]
            }
            ModelType::Object(object) => {
                let is_required = |presence: Presence| usize::from(presence == Presence::Required);
                let required = object.properties.values().map(|property| is_required(property.presence)).sum::<usize>();
                let is_open = usize::from(object.rest != RestType::Closed);
                vec![6, is_open, usize::MAX - required, usize::MAX - object.properties.len()]
            }
            ModelType::Reference(pointer) => match self.model.definitions.get(pointer) {
                // A definition that is itself a choice is wider than what it chooses from.
                Some(definition) if !matches!(definition.ty, ModelType::Reference(_)) => self.rank(&definition.ty),
                _ => vec![7],
            },
            _ => vec![8],
        }
    }
}

/// Members that Rust does not tell apart become one: numbers as they are typed, and strings beside `string`.
fn merged(members: &[ModelType]) -> Vec<ModelType> {
    let mut found: Vec<ModelType> = Vec::new();
    let has_text = members.contains(&ModelType::Text);
    for member in members {
        let plain = match member {
            ModelType::Literal(Value::String(_)) if has_text => ModelType::Text,
            ModelType::Literal(Value::Bool(_)) => ModelType::Boolean,
            ModelType::Literal(Value::Array(_) | Value::Object(_)) => ModelType::Any,
            other => other.clone(),
        };
        if !found.contains(&plain) {
            found.push(plain);
        }
    }
    let is_number = |ty: &ModelType| matches!(ty, ModelType::Literal(Value::Number(_)));
    if found.iter().filter(|ty| is_number(ty)).count() > 1 {
        let is_float = |ty: &ModelType| matches!(ty, ModelType::Literal(Value::Number(number)) if !number.is_i64());
        let number = if found.iter().any(is_float) { ModelType::Number } else { integer() };
        found.retain(|ty| !is_number(ty));
        found.push(number);
    }
    found
}

fn integer() -> ModelType {
    use super::super::model::{IntegerRange, IntegerSize, Sign};
    ModelType::Integer(IntegerRange { sign: Sign::Any, size: IntegerSize::Usual })
}

fn object_name(object: &ObjectType) -> String {
    let tag = object.properties.values().find_map(|property| string(&property.ty));
    tag.map_or_else(|| "Object".to_owned(), names::pascal)
}

fn string(ty: &ModelType) -> Option<&str> {
    match ty {
        ModelType::Literal(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// All members, if they are strings.
fn strings(members: &[ModelType]) -> Option<Vec<&str>> {
    members.iter().map(string).collect()
}

fn string_enum(listed: &[&str], name: &str) -> String {
    let mut code = format!("{DERIVE}pub enum {name} {{\n");
    let mut book = NameBook::with_reserved(&["Self"]);
    for text in listed {
        let wanted = if text.is_empty() { "Empty".to_owned() } else { names::pascal(text) };
        let variant = identifier(&book.take(&wanted));
        if variant != **text {
            code.push_str(&format!("    #[serde(rename = {})]\n", text::rust_literal(text)));
        }
        code.push_str(&format!("    {variant},\n"));
    }
    code + "}\n"
}
