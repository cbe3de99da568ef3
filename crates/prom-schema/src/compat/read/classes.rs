//! Which nodes mean the same: those with equal keywords whose parts mean the same. Recursive schemas are compared by
//! refining a partition until it is stable.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::compat::equal::canonical;
use crate::compat::node::{Keyword, Members, Node};

/// Gives every node its class; returns the highest.
pub(super) fn settle(nodes: &mut [Node]) -> u32 {
    let own: Vec<String> = nodes.iter().map(signature).collect();
    let parts: Vec<Vec<usize>> = nodes
        .iter()
        .map(|node| {
            let parts =
                node.clauses.iter().flat_map(|clause| [clause.keyword.in_place(), clause.keyword.inner()].concat());
            parts.map(|part| part as usize).collect()
        })
        .collect();
    let mut classes = vec![0u32; nodes.len()];
    let mut count = 1;
    loop {
        let mut seen: HashMap<(u32, &str, Vec<u32>), u32> = HashMap::new();
        let mut refined = Vec::with_capacity(nodes.len());
        for index in 0..nodes.len() {
            let below = parts[index].iter().map(|part| classes[*part]).collect();
            let next = seen.len() as u32;
            refined.push(*seen.entry((classes[index], own[index].as_str(), below)).or_insert(next));
        }
        let refined_count = seen.len();
        classes = refined;
        if refined_count == count {
            break;
        }
        count = refined_count;
    }
    for (node, class) in nodes.iter_mut().zip(&classes) {
        node.class = *class;
    }
    count as u32
}

/// Everything that a node says itself, without its parts.
fn signature(node: &Node) -> String {
    let mut text = String::new();
    for clause in node.clauses.iter() {
        // Writing to a string cannot fail.
        let _ = match &clause.keyword {
            Keyword::Enum(values) => {
                let mut values: Vec<String> = values.iter().map(canonical).collect();
                values.sort();
                write!(text, "enum{values:?};")
            }
            Keyword::AllOf(parts) | Keyword::AnyOf(parts) | Keyword::OneOf(parts) => {
                write!(text, "{}{};", clause.name, parts.len())
            }
            Keyword::Not(_) | Keyword::Ref(_) | Keyword::PropertyNames(_) => write!(text, "{};", clause.name),
            Keyword::If { then, otherwise, .. } => write!(text, "if{}{};", then.is_some(), otherwise.is_some()),
            Keyword::Items(items) => write!(text, "items{}{};", items.prefix.len(), items.rest.is_some()),
            Keyword::Contains { min, max, .. } => write!(text, "contains{min},{max};"),
            Keyword::Members(members) => {
                let Members { named, patterns, additional } = &**members;
                let patterns: Vec<_> = patterns.iter().map(|(pattern, ..)| pattern).collect();
                write!(text, "members{:?}{patterns:?}{};", named.keys(), additional.is_some())
            }
            Keyword::DependentSchemas(schemas) => write!(text, "dependent{:?};", schemas.keys()),
            Keyword::UnevaluatedItems(rest) | Keyword::UnevaluatedProperties(rest) => {
                write!(text, "{}{:?}{:?};", clause.name, rest.sure, rest.maybe)
            }
            // Nothing equals what cannot be compared.
            Keyword::Opaque => write!(text, "opaque{:?}{};", node.side, node.pointer),
            other => write!(text, "{other:?};"),
        };
    }
    text
}
