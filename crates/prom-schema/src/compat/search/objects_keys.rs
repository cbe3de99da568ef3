//! Names of members: whether one is allowed, and names that no schema mentions.

use std::collections::HashSet;

use serde_json::Value;

use super::goal::{Lit, Polarity};
use super::objects::ObjectSearch;
use super::{Search, SearchAnswer};
use crate::compat::evaluate::Evaluator;
use crate::compat::node::{Keyword, NodeId, NumberType, Type, Types};
use crate::compat::pattern::{FoundString, PatternId, Wanted};
use crate::limits::{KEY_PATTERNS, NAME_DEMANDS};

impl Search<'_> {
    /// Whether `propertyNames` refuses this name.
    pub(super) fn names_refuse(&mut self, object: &mut ObjectSearch<'_>, name: &str) -> bool {
        let nodes = object.shape.names.clone();
        for node in nodes {
            match self.name_fits(Lit::holds(node), name) {
                Some(true) => {}
                Some(false) => return true,
                None => object.doubt = true,
            }
        }
        false
    }

    pub(super) fn name_fits(&mut self, lit: Lit, name: &str) -> Option<bool> {
        let exempt = HashSet::new();
        let valid = Evaluator::new(self.arena, &exempt).is_valid(&Value::from(name), lit.node);
        valid.map(|valid| valid == (lit.sign == Polarity::Holds))
    }

    /// One name for every combination of patterns, mentioned by no schema and not used yet. Other names of the same
    /// combination are treated alike, except by what other members demand of their names: one name may have to meet
    /// several demands, so there is one for every combination of these too.
    pub(super) fn other_names(
        &mut self,
        object: &mut ObjectSearch<'_>,
        name: Option<Lit>,
        others: &[Lit],
        used: &[String],
    ) -> Vec<String> {
        let patterns: Vec<PatternId> = object.patterns.iter().copied().collect();
        let decided: Vec<PatternId> =
            patterns.into_iter().filter(|pattern| self.arena.patterns.matches(*pattern, "").is_some()).collect();
        if decided.len() > KEY_PATTERNS {
            object.doubt = true;
            return Vec::new();
        }
        let others = if others.len() > NAME_DEMANDS {
            object.doubt = true;
            &[]
        } else {
            others
        };
        let mut names = Vec::new();
        for combination in 0..1usize << decided.len() {
            let matching = |bit: usize| combination >> bit & 1 == 1;
            let (matched, unmatched): (Vec<_>, Vec<_>) =
                decided.iter().copied().enumerate().partition(|(bit, _)| matching(*bit));
            let strip = |list: Vec<(usize, PatternId)>| list.into_iter().map(|(_, pattern)| pattern).collect();
            let excluded: HashSet<String> = object.mentioned.iter().chain(used).cloned().collect();
            let wanted = Wanted { matched: strip(matched), unmatched: strip(unmatched), min: 0, max: None, excluded };
            for met in (0..1usize << others.len()).rev() {
                let others = others.iter().enumerate().filter(|(bit, _)| met >> bit & 1 == 1).map(|(_, lit)| *lit);
                let demands: Vec<Lit> = others.chain(name).collect();
                let found = match (object.shape.names.is_empty(), demands.is_empty()) {
                    (true, true) => self.arena.patterns.find(&wanted, self.meter),
                    _ => self.name_by_schema(&object.shape.names, &demands, &wanted),
                };
                match found {
                    FoundString::Some(name) if names.contains(&name) => {}
                    FoundString::Some(name) => names.push(name),
                    FoundString::None => {}
                    FoundString::Unknown => object.doubt = true,
                }
            }
        }
        names
    }

    /// A name is a string like any other where schemas speak about it.
    fn name_by_schema(&mut self, names: &[NodeId], demands: &[Lit], wanted: &Wanted) -> FoundString {
        let string = Types { others: [Type::String].into(), number: NumberType::None };
        let mut lits: Vec<Lit> = names.iter().map(|node| Lit::holds(*node)).chain(demands.iter().copied()).collect();
        lits.push(Lit::holds(self.made(Keyword::Types(string))));
        for pattern in &wanted.matched {
            lits.push(Lit::holds(self.made(Keyword::Pattern(*pattern))));
        }
        for pattern in &wanted.unmatched {
            lits.push(Lit::fails(self.made(Keyword::Pattern(*pattern))));
        }
        let mut excluded: Vec<Value> = wanted.excluded.iter().map(|name| Value::from(name.as_str())).collect();
        excluded.sort_by(|left, right| left.as_str().cmp(&right.as_str()));
        match self.solve_at(&lits, &excluded, Vec::new()) {
            SearchAnswer::No => FoundString::None,
            SearchAnswer::Maybe(Some(Value::String(text))) => FoundString::Some(text),
            SearchAnswer::Maybe(_) => FoundString::Unknown,
        }
    }
}
