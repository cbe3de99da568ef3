//! What other keywords look at before `unevaluatedProperties` and `unevaluatedItems`: in every document that passes
//! them, and in some.

use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;

use super::Arena;
use crate::compat::node::{Covered, Keyword, NodeId};
use crate::limits::SCHEMA_CHAIN;

/// Subschemas that are walked for one document. A schema that needs more is compared without these keywords.
const PARTS: usize = 200_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sight {
    Sure,
    Maybe,
}

pub(super) fn fill(arena: &mut Arena, nodes: Range<usize>) {
    let mut left = PARTS;
    for index in nodes {
        let wants =
            |keyword: &Keyword| matches!(keyword, Keyword::UnevaluatedItems(_) | Keyword::UnevaluatedProperties(_));
        let Some(_) = arena.nodes[index].clauses.iter().find(|clause| wants(&clause.keyword)) else { continue };
        let [sure, maybe] = [Sight::Sure, Sight::Maybe].map(|sight| {
            let mut walk =
                Walk { arena, sight, covered: Covered::default(), seen: HashSet::new(), depth: 0, too_deep: false };
            walk.cover(index as NodeId, Place::Own);
            left = left.saturating_sub(walk.seen.len());
            if left == 0 || walk.too_deep { walk.give_up() } else { walk.covered }
        });
        for clause in Rc::make_mut(&mut arena.nodes[index].clauses) {
            if let Keyword::UnevaluatedItems(rest) | Keyword::UnevaluatedProperties(rest) = &mut clause.keyword {
                rest.sure = sure.clone();
                rest.maybe = maybe.clone();
            }
        }
    }
}

/// A schema's own `unevaluated` keywords look at what is left; those inside it look first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Own,
    Inside,
}

struct Walk<'a> {
    arena: &'a Arena,
    sight: Sight,
    covered: Covered,
    seen: HashSet<NodeId>,
    depth: usize,
    too_deep: bool,
}

impl Walk<'_> {
    /// Covers too much where that is safe, and too little where that is.
    fn give_up(&self) -> Covered {
        let all = self.sight == Sight::Maybe;
        Covered { all, all_items: all, ..Covered::default() }
    }

    fn cover(&mut self, node: NodeId, place: Place) {
        if !self.seen.insert(node) {
            return;
        }
        if self.depth >= SCHEMA_CHAIN {
            self.too_deep = true;
            return;
        }
        self.depth += 1;
        self.cover_clauses(node, place);
        self.depth -= 1;
    }

    fn cover_clauses(&mut self, node: NodeId, place: Place) {
        let arena = self.arena;
        for clause in arena.node(node).clauses.iter() {
            match &clause.keyword {
                Keyword::Members(members) => {
                    self.covered.names.extend(members.named.keys().cloned());
                    self.covered.patterns.extend(members.patterns.iter().map(|(pattern, ..)| *pattern));
                    self.covered.all |= members.additional.is_some();
                }
                Keyword::Items(items) => {
                    self.covered.items = self.covered.items.max(items.prefix.len());
                    self.covered.all_items |= items.rest.is_some();
                }
                // Which items match depends on the document.
                Keyword::Contains { .. } => self.covered.all_items |= self.sight == Sight::Maybe,
                Keyword::UnevaluatedProperties(_) => self.covered.all |= place == Place::Inside,
                Keyword::UnevaluatedItems(_) => self.covered.all_items |= place == Place::Inside,
                Keyword::AllOf(parts) => {
                    parts.iter().for_each(|part| self.cover(*part, Place::Inside));
                }
                Keyword::Ref(part) => self.cover(*part, Place::Inside),
                Keyword::Opaque if self.sight == Sight::Maybe => {
                    self.covered.all = true;
                    self.covered.all_items = true;
                }
                // `not` passes where its schema fails, and what fails has looked at nothing.
                Keyword::Not(_) => {}
                other if self.sight == Sight::Maybe => {
                    other.in_place().iter().for_each(|part| self.cover(*part, Place::Inside));
                }
                _ => {}
            }
        }
    }
}
