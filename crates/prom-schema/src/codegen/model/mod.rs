//! The types that a schema describes, as both languages need them.
//!
//! A schema says what is refused; a type says what there is. So each keyword becomes the widest type that holds everything it
//! lets through: `allOf` is merged into one type, `anyOf` and `oneOf` become unions, `not` and `if` widen nothing and narrow
//! nothing. A schema without `type` lets values of every other kind through, and its type is then any value.

mod build;
mod intersect;
mod settle;

use std::collections::BTreeMap;

use serde_json::Value;

pub(super) use build::{build, whole};

use super::CodegenNote;

/// The types of one schema.
#[derive(Debug)]
pub(super) struct TypeModel {
    pub root: ModelType,
    pub about: DocText,
    /// What references lead to, by JSON pointer. The empty pointer is the root and is not among them.
    pub definitions: BTreeMap<String, TypeDefinition>,
    pub notes: Vec<CodegenNote>,
}

#[derive(Debug)]
pub(super) struct TypeDefinition {
    pub ty: ModelType,
    pub about: DocText,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ModelType {
    Any,
    Never,
    Null,
    Boolean,
    Integer(IntegerRange),
    Number,
    Text,
    Literal(Value),
    Array(ArrayType),
    Object(ObjectType),
    /// At least two, none of them a union.
    Union(Vec<ModelType>),
    /// To a definition, by JSON pointer.
    Reference(String),
}

/// What is known about an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IntegerRange {
    pub sign: Sign,
    pub size: IntegerSize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Any,
    NotNegative,
}

/// Whether the schema speaks of integers that a double cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntegerSize {
    Usual,
    Large,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ArrayType {
    pub prefix: Vec<ModelType>,
    /// Of items behind the prefix. `Never` if there are none.
    pub rest: Box<ModelType>,
    /// Number of items that are always there.
    pub least: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ObjectType {
    pub properties: BTreeMap<String, PropertyType>,
    pub rest: RestType,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PropertyType {
    pub ty: ModelType,
    pub presence: Presence,
    pub about: DocText,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    Optional,
}

/// Properties that have no name in the schema.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RestType {
    /// The schema does not speak of them, and lets them through.
    Unsaid,
    Closed,
    Typed(Box<ModelType>),
}

/// What the schema says to people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DocText {
    pub title: Option<String>,
    pub description: Option<String>,
    pub deprecated: Option<Deprecated>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deprecated;

impl ModelType {
    /// A union of these, flat and without repetition.
    pub fn union(members: impl IntoIterator<Item = ModelType>) -> Self {
        let mut flat: Vec<ModelType> = Vec::new();
        let mut add = |member: ModelType| {
            if member != ModelType::Never && !flat.contains(&member) {
                flat.push(member);
            }
        };
        for member in members {
            match member {
                ModelType::Union(inner) => inner.into_iter().for_each(&mut add),
                other => add(other),
            }
        }
        if flat.contains(&ModelType::Any) {
            return ModelType::Any;
        }
        match flat.len() {
            0 => ModelType::Never,
            1 => flat.remove(0),
            _ => ModelType::Union(flat),
        }
    }

    /// The members of a union; of anything else, itself.
    pub fn members(&self) -> &[ModelType] {
        match self {
            ModelType::Union(members) => members,
            other => std::slice::from_ref(other),
        }
    }

    /// The types directly inside.
    pub fn parts(&self) -> Vec<&ModelType> {
        match self {
            ModelType::Union(members) => members.iter().collect(),
            ModelType::Array(array) => array.prefix.iter().chain([&*array.rest]).collect(),
            ModelType::Object(object) => {
                let rest = match &object.rest {
                    RestType::Typed(ty) => Some(&**ty),
                    RestType::Unsaid | RestType::Closed => None,
                };
                object.properties.values().map(|property| &property.ty).chain(rest).collect()
            }
            _ => Vec::new(),
        }
    }
}
