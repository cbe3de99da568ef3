//! Which properties a schema declares. The lenient policy exempts all others from the property keywords of the schema
//! that judges.
//!
//! A property is declared if it is in `properties` or `required`, matches `patternProperties`, or falls under a non-empty
//! `additionalProperties` or `unevaluatedProperties`. Every branch counts, whether or not a document takes it: declaring
//! too much refuses too much, declaring too little would let something through.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::node::{Keyword, NodeId, Type};
use super::pattern::PatternId;
use super::read::Arena;
use crate::references::escape;

#[derive(Debug, Default)]
pub(super) struct Declared {
    /// All names are.
    pub all: bool,
    pub names: BTreeSet<String>,
    pub patterns: BTreeSet<PatternId>,
}

impl Declared {
    /// What nodes that judge one value declare together.
    pub fn of(arena: &Arena, nodes: &[NodeId]) -> Self {
        let mut declared = Self::default();
        for node in in_place(arena, nodes) {
            for clause in arena.node(node).clauses.iter() {
                match &clause.keyword {
                    Keyword::Required(names) => declared.names.extend(names.iter().cloned()),
                    Keyword::Members(members) => {
                        declared.names.extend(members.named.keys().cloned());
                        declared.patterns.extend(members.patterns.iter().map(|(pattern, ..)| *pattern));
                        declared.all |= members.additional.is_some_and(|node| speaks(arena, node));
                    }
                    Keyword::UnevaluatedProperties(rest) => declared.all |= speaks(arena, rest.node),
                    Keyword::Opaque => declared.all = true,
                    _ => {}
                }
            }
        }
        declared
    }

    /// Where a pattern cannot be asked, it counts as matching.
    pub fn declares(&self, arena: &mut Arena, name: &str) -> bool {
        self.all
            || self.names.contains(name)
            || self.patterns.iter().any(|pattern| arena.patterns.matches(*pattern, name) != Some(false))
    }
}

/// `{}`, `true` and `false` say nothing about a value that is there.
fn speaks(arena: &Arena, node: NodeId) -> bool {
    !arena.node(node).is_true() && !arena.node(node).is_false()
}

/// These nodes and all that judge the same value through them.
pub(super) fn in_place(arena: &Arena, nodes: &[NodeId]) -> BTreeSet<NodeId> {
    let mut reached = BTreeSet::new();
    let mut todo = nodes.to_vec();
    while let Some(node) = todo.pop() {
        if reached.insert(node) {
            todo.extend(arena.node(node).clauses.iter().flat_map(|clause| clause.keyword.in_place()));
        }
    }
    reached
}

/// Whether a node says anything about members or items. Others declare nothing, here or below.
pub(super) fn speaks_of_parts(arena: &Arena, node: NodeId) -> bool {
    let speaks = |keyword: &Keyword| {
        matches!(keyword.about(), Some(Type::Array | Type::Object)) || matches!(keyword, Keyword::Opaque)
    };
    in_place(arena, &[node]).into_iter().any(|node| {
        let clauses = &arena.node(node).clauses;
        clauses.iter().any(|clause| speaks(&clause.keyword))
    })
}

/// Pointers of the properties of a document that these nodes do not declare. What is below them is not looked at.
pub(super) fn undeclared(arena: &mut Arena, value: &Value, nodes: &[NodeId]) -> HashSet<String> {
    let mut found = HashSet::new();
    walk(arena, value, nodes, "", &mut found);
    found
}

fn walk(arena: &mut Arena, value: &Value, nodes: &[NodeId], path: &str, found: &mut HashSet<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let inner = item_nodes(arena, nodes, index);
                walk(arena, item, &inner, &format!("{path}/{index}"), found);
            }
        }
        Value::Object(members) => {
            let declared = Declared::of(arena, nodes);
            for (name, member) in members {
                let at = format!("{path}/{}", escape(name));
                if declared.declares(arena, name) {
                    let inner = member_nodes(arena, nodes, name);
                    walk(arena, member, &inner, &at, found);
                } else {
                    found.insert(at);
                }
            }
        }
        _ => {}
    }
}

pub(super) fn item_nodes(arena: &Arena, nodes: &[NodeId], index: usize) -> Vec<NodeId> {
    let mut inner = Vec::new();
    for node in in_place(arena, nodes) {
        for clause in arena.node(node).clauses.iter() {
            match &clause.keyword {
                Keyword::Items(items) => inner.extend(items.prefix.get(index).copied().or(items.rest)),
                Keyword::Contains { node, .. } => inner.push(*node),
                Keyword::UnevaluatedItems(rest) if rest.sure.all_items || index < rest.sure.items => {}
                Keyword::UnevaluatedItems(rest) => inner.push(rest.node),
                _ => {}
            }
        }
    }
    inner
}

pub(super) fn member_nodes(arena: &mut Arena, nodes: &[NodeId], name: &str) -> Vec<NodeId> {
    let mut inner = Vec::new();
    for node in in_place(arena, nodes) {
        for clause in arena.clauses(node).iter() {
            match &clause.keyword {
                Keyword::Members(members) => {
                    let before = inner.len();
                    inner.extend(members.named.get(name));
                    for (pattern, _, node) in &members.patterns {
                        if arena.patterns.matches(*pattern, name) != Some(false) {
                            inner.push(*node);
                        }
                    }
                    if inner.len() == before {
                        inner.extend(members.additional);
                    }
                }
                Keyword::UnevaluatedProperties(rest) => {
                    let sure = &rest.sure;
                    let matches = |pattern: &PatternId| arena.patterns.matches(*pattern, name) == Some(true);
                    if !sure.all && !sure.names.contains(name) && !sure.patterns.iter().any(matches) {
                        inner.push(rest.node);
                    }
                }
                _ => {}
            }
        }
    }
    inner
}
