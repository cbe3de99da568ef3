//! Which types contain themselves, and where a box or a type of its own is needed for that.

use std::collections::{BTreeMap, BTreeSet};

use super::super::model::{ArrayType, ModelType, ObjectType, TypeModel};

/// Elements of a tuple that serde and the standard library know.
pub(super) const TUPLE: usize = 12;

pub(super) struct Recursion {
    /// From each definition to those that lie in it without a pointer between.
    inline: BTreeMap<String, BTreeSet<String>>,
    /// From each definition that is only another name to those it names, through whatever.
    aliases: BTreeMap<String, BTreeSet<String>>,
}

impl Recursion {
    pub fn of(model: &TypeModel) -> Self {
        let root = (String::new(), &model.root);
        let definitions = model.definitions.iter().map(|(pointer, definition)| (pointer.clone(), &definition.ty));
        let all: Vec<(String, &ModelType)> = [root].into_iter().chain(definitions).collect();
        let edges = |parts: fn(&ModelType) -> Vec<&ModelType>, ty: &ModelType| {
            let mut found = BTreeSet::new();
            let mut waiting = vec![ty];
            while let Some(ty) = waiting.pop() {
                if let ModelType::Reference(pointer) = ty {
                    found.insert(pointer.clone());
                }
                waiting.extend(parts(ty));
            }
            found
        };
        Self {
            inline: all.iter().map(|(pointer, ty)| (pointer.clone(), edges(inline_parts, ty))).collect(),
            aliases: all
                .iter()
                .filter(|(_, ty)| is_alias(ty))
                .map(|(pointer, ty)| (pointer.clone(), edges(ModelType::parts, ty)))
                .collect(),
        }
    }

    /// Whether `inner`, written inside of `outer`, would contain `outer`.
    pub fn contains(&self, inner: &str, outer: &str) -> bool {
        inner == outer || reaches(&self.inline, inner, outer)
    }

    /// Whether another name for this type would only lead back to itself.
    pub fn needs_own_type(&self, pointer: &str) -> bool {
        reaches(&self.aliases, pointer, pointer)
    }
}

fn reaches(edges: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(at) = waiting.pop() {
        for next in edges.get(at).into_iter().flatten() {
            if next == to {
                return true;
            }
            if seen.insert(next.as_str()) {
                waiting.push(next);
            }
        }
    }
    false
}

/// Whether a type has no item of its own. Unions of several types have one.
fn is_alias(ty: &ModelType) -> bool {
    match ty {
        ModelType::Object(object) => is_map(object),
        ModelType::Union(members) => members.contains(&ModelType::Null),
        _ => true,
    }
}

/// What is stored in place. Lists and maps store a pointer.
fn inline_parts(ty: &ModelType) -> Vec<&ModelType> {
    match ty {
        ModelType::Array(array) if is_tuple(array) => array.prefix.iter().collect(),
        ModelType::Array(_) => Vec::new(),
        ModelType::Object(object) => object.properties.values().map(|property| &property.ty).collect(),
        other => other.parts(),
    }
}

/// Whether every array of this type has the same length.
pub(super) fn is_tuple(array: &ArrayType) -> bool {
    *array.rest == ModelType::Never && (1..=TUPLE).contains(&array.prefix.len()) && array.least >= array.prefix.len()
}

/// Whether an object has no named properties.
pub(super) fn is_map(object: &ObjectType) -> bool {
    object.properties.is_empty() && object.rest != super::super::model::RestType::Closed
}
