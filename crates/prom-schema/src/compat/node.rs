//! A schema as the search sees it: nodes of clauses in one arena, with references resolved and drafts made alike.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::Value;

use super::equal::ListedValues;
use super::number::Exact;
use super::pattern::PatternId;

pub(super) type NodeId = u32;

/// The schema that accepts everything: the first node of every comparison.
pub(super) const ANYTHING: NodeId = 0;

/// Which schema a node was read from. Made nodes stand for parts of the judged schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Side {
    /// Whose documents are tried.
    Old,
    /// Which judges them.
    New,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Type {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl Type {
    /// Simple documents first: examples are read by people.
    pub const ALL: [Self; 6] = [Self::Object, Self::String, Self::Number, Self::Boolean, Self::Array, Self::Null];

    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }
}

/// How numbers pass a `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum NumberType {
    None,
    Integer,
    Any,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Types {
    pub others: BTreeSet<Type>,
    pub number: NumberType,
}

impl Types {
    pub fn allows(&self, kind: Type) -> bool {
        if kind == Type::Number { self.number != NumberType::None } else { self.others.contains(&kind) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Bound {
    Inclusive,
    Exclusive,
}

/// `properties`, `patternProperties` and `additionalProperties` of one schema.
#[derive(Debug, Clone, Default)]
pub(super) struct Members {
    pub named: BTreeMap<String, NodeId>,
    pub patterns: Vec<(PatternId, String, NodeId)>,
    pub additional: Option<NodeId>,
}

/// `prefixItems` and `items`, or the tuple form of older drafts.
#[derive(Debug, Clone, Default)]
pub(super) struct Items {
    pub prefix: Vec<NodeId>,
    pub rest: Option<NodeId>,
}

/// Property names that other keywords have looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Covered {
    pub all: bool,
    pub names: BTreeSet<String>,
    pub patterns: BTreeSet<PatternId>,
    /// Items before this position.
    pub items: usize,
    pub all_items: bool,
}

/// What `unevaluatedProperties` and `unevaluatedItems` leave to their schema.
#[derive(Debug, Clone)]
pub(super) struct Unevaluated {
    pub node: NodeId,
    /// Looked at in every document that passes the rest of the schema.
    pub sure: Covered,
    /// Looked at in some document.
    pub maybe: Covered,
}

#[derive(Debug, Clone)]
pub(super) enum Keyword {
    False,
    Types(Types),
    Enum(Rc<ListedValues>),
    AllOf(Vec<NodeId>),
    AnyOf(Vec<NodeId>),
    OneOf(Vec<NodeId>),
    Not(NodeId),
    If {
        condition: NodeId,
        then: Option<NodeId>,
        otherwise: Option<NodeId>,
    },
    Ref(NodeId),
    /// A keyword that is not compared: a reference by dynamic scope with more than one target.
    Opaque,

    Minimum(Exact, Bound),
    Maximum(Exact, Bound),
    MultipleOf(Exact),

    MinLength(u64),
    MaxLength(u64),
    Pattern(PatternId),
    Format(String),

    MinItems(u64),
    MaxItems(u64),
    Unique,
    Items(Items),
    Contains {
        node: NodeId,
        min: u64,
        max: u64,
    },
    UnevaluatedItems(Box<Unevaluated>),

    Required(Vec<String>),
    MinProperties(u64),
    MaxProperties(u64),
    PropertyNames(NodeId),
    Members(Rc<Members>),
    DependentRequired(BTreeMap<String, Vec<String>>),
    DependentSchemas(BTreeMap<String, NodeId>),
    UnevaluatedProperties(Box<Unevaluated>),
}

impl Keyword {
    /// The one type it speaks about; `None` for all.
    pub fn about(&self) -> Option<Type> {
        match self {
            Self::Minimum(..) | Self::Maximum(..) | Self::MultipleOf(_) => Some(Type::Number),
            Self::MinLength(_) | Self::MaxLength(_) | Self::Pattern(_) | Self::Format(_) => Some(Type::String),
            Self::MinItems(_)
            | Self::MaxItems(_)
            | Self::Unique
            | Self::Items(_)
            | Self::Contains { .. }
            | Self::UnevaluatedItems(_) => Some(Type::Array),
            Self::Required(_)
            | Self::MinProperties(_)
            | Self::MaxProperties(_)
            | Self::PropertyNames(_)
            | Self::Members(_)
            | Self::DependentRequired(_)
            | Self::DependentSchemas(_)
            | Self::UnevaluatedProperties(_) => Some(Type::Object),
            _ => None,
        }
    }

    /// Subschemas that judge the same value.
    pub fn in_place(&self) -> Vec<NodeId> {
        match self {
            Self::AllOf(nodes) | Self::AnyOf(nodes) | Self::OneOf(nodes) => nodes.clone(),
            Self::Not(node) | Self::Ref(node) => vec![*node],
            Self::If { condition, then, otherwise } => {
                [Some(*condition), *then, *otherwise].into_iter().flatten().collect()
            }
            Self::DependentSchemas(schemas) => schemas.values().copied().collect(),
            _ => Vec::new(),
        }
    }

    /// Subschemas that judge members, items or names.
    pub fn inner(&self) -> Vec<NodeId> {
        match self {
            Self::Items(items) => items.prefix.iter().copied().chain(items.rest).collect(),
            Self::Contains { node, .. } | Self::PropertyNames(node) => vec![*node],
            Self::UnevaluatedItems(rest) | Self::UnevaluatedProperties(rest) => vec![rest.node],
            Self::Members(members) => {
                let named = members.named.values().copied();
                named.chain(members.patterns.iter().map(|(.., node)| *node)).chain(members.additional).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// A keyword and where it is written.
#[derive(Debug, Clone)]
pub(super) struct Clause {
    pub keyword: Keyword,
    /// The keyword's own name, for pointers and messages.
    pub name: &'static str,
}

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub side: Side,
    pub pointer: String,
    /// Nodes of one class mean the same.
    pub class: u32,
    /// Shared, so that the search can walk them while it makes nodes.
    pub clauses: Rc<Vec<Clause>>,
}

impl Node {
    /// Accepts everything.
    pub fn is_true(&self) -> bool {
        self.clauses.is_empty()
    }

    pub fn is_false(&self) -> bool {
        matches!(self.clauses.as_slice(), [Clause { keyword: Keyword::False, .. }])
    }
}
