//! Refuses references that lead back to themselves on the same value: no validator can end on them.

use std::ops::Range;

use super::Arena;
use crate::compat::error::CompareError;
use crate::compat::node::NodeId;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    /// On the way that is being walked.
    Open,
    Done,
}

pub(super) fn refuse_endless(arena: &Arena, nodes: Range<usize>) -> Result<(), CompareError> {
    let first = nodes.start;
    let mut marks = vec![Mark::New; nodes.len()];
    for start in nodes {
        // Each entry: a node, and those of its parts that are still to be walked.
        let mut way: Vec<(NodeId, Vec<NodeId>)> = Vec::new();
        let mut next = Some(start as NodeId);
        loop {
            if let Some(node) = next.take() {
                match marks[node as usize - first] {
                    Mark::Done => {}
                    Mark::Open => {
                        let pointer = arena.node(node).pointer.clone();
                        let pointer = if pointer.is_empty() { "the schema".to_owned() } else { pointer };
                        return Err(CompareError::EndlessReference { pointer });
                    }
                    Mark::New => {
                        marks[node as usize - first] = Mark::Open;
                        let parts = arena.node(node).clauses.iter().flat_map(|clause| clause.keyword.in_place());
                        way.push((node, parts.collect()));
                    }
                }
            }
            let Some((node, parts)) = way.last_mut() else { break };
            next = parts.pop();
            if next.is_none() {
                marks[*node as usize - first] = Mark::Done;
                way.pop();
            }
        }
    }
    Ok(())
}
