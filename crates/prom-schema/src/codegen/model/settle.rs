//! The last step: types as they are printed.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::CodegenNote;
use super::super::document::CodegenDocument;
use super::{ArrayType, ModelType, ObjectType, PropertyType, RestType};

/// A union that holds values of every kind is written as any value: nobody reads the difference.
pub(super) fn settle(ty: &ModelType, document: &CodegenDocument<'_>) -> ModelType {
    match ty {
        ModelType::Union(members) if holds_every_kind(members) => ModelType::Any,
        ModelType::Union(members) => ModelType::union(members.iter().map(|member| settle(member, document))),
        ModelType::Array(array) => ModelType::Array(ArrayType {
            prefix: array.prefix.iter().map(|item| settle(item, document)).collect(),
            rest: Box::new(settle(&array.rest, document)),
            least: array.least,
        }),
        ModelType::Object(object) => {
            let settled = |property: &PropertyType| PropertyType {
                ty: settle(&property.ty, document),
                presence: property.presence,
                about: property.about.clone(),
            };
            let properties = object.properties.iter().map(|(name, property)| (name.clone(), settled(property)));
            let rest = match &object.rest {
                RestType::Typed(ty) => RestType::Typed(Box::new(settle(ty, document))),
                other => other.clone(),
            };
            ModelType::Object(ObjectType { properties: properties.collect(), rest })
        }
        ModelType::Reference(pointer) => settle_reference(pointer, document),
        other => other.clone(),
    }
}

/// A definition that is always or never true needs no name.
fn settle_reference(pointer: &str, document: &CodegenDocument<'_>) -> ModelType {
    match document.root().pointer(pointer) {
        Some(Value::Bool(true)) => ModelType::Any,
        Some(Value::Bool(false)) => ModelType::Never,
        _ => ModelType::Reference(pointer.to_owned()),
    }
}

/// Says why the type of a whole schema is any value, where that is probably not meant.
pub(super) fn notes(document: &CodegenDocument<'_>, root: &ModelType) -> Vec<CodegenNote> {
    let says_something = document.root().as_object().is_some_and(|map| map.contains_key("properties"));
    if *root == ModelType::Any && says_something {
        let text = "there is no `type`, so a value of any kind passes; add `\"type\": \"object\"` to get a type";
        return vec![document.note(document.root(), "", text)];
    }
    Vec::new()
}

/// The pointers of all definitions that are named inside.
pub(super) fn references(ty: &ModelType) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![ty];
    while let Some(ty) = waiting.pop() {
        if let ModelType::Reference(pointer) = ty {
            found.insert(pointer.clone());
        }
        waiting.extend(ty.parts());
    }
    found.into_iter().collect()
}

fn holds_every_kind(members: &[ModelType]) -> bool {
    let has = |is: fn(&ModelType) -> bool| members.iter().any(is);
    has(|ty| *ty == ModelType::Null)
        && has(|ty| *ty == ModelType::Boolean)
        && has(|ty| *ty == ModelType::Number)
        && has(|ty| *ty == ModelType::Text)
        && has(|ty| matches!(ty, ModelType::Array(_)))
        && has(|ty| matches!(ty, ModelType::Object(_)))
}
