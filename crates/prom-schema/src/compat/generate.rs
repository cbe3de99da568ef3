//! Makes documents from both schemas, to be tried out: values at and around every limit, members left out and added.
//!
//! It knows nothing of the search. What it finds turns `undecided` into a violation, and a wrong "compatible" too.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value, json};

use super::declared::{in_place, item_nodes, member_nodes};
use super::format::SAMPLES;
use super::meter::Meter;
use super::node::{Keyword, NodeId};
use super::number::Exact;
use super::pattern::{FoundString, Wanted};
use super::read::Arena;
use crate::limits::{CANDIDATES, WITNESS_CHARACTERS};

/// Values kept for a part of a document, by how deep it is.
const PER_PART: [usize; 4] = [CANDIDATES, 24, 8, 4];
/// Members and items of parts that are varied, one at a time.
const VARIED: usize = 40;
/// Copying this many members takes about as long as one step.
const MEMBERS_PER_STEP: u64 = 8;

pub(super) struct Generator<'a> {
    pub arena: &'a mut Arena,
    pub meter: &'a mut Meter,
}

impl Generator<'_> {
    /// Documents that these nodes speak about, whether or not they accept them.
    pub fn documents(&mut self, nodes: &[NodeId]) -> Vec<Value> {
        self.values(nodes, 0)
    }

    fn values(&mut self, nodes: &[NodeId], depth: usize) -> Vec<Value> {
        let mut values = Vec::new();
        if depth >= PER_PART.len() || !self.meter.take(1) {
            return vec![json!("a")];
        }
        let nodes: Vec<NodeId> = in_place(self.arena, nodes).into_iter().collect();
        for node in &nodes {
            for clause in self.arena.clauses(*node).iter() {
                self.scalars(&clause.keyword, &mut values);
            }
        }
        self.objects(&nodes, depth, &mut values);
        self.arrays(&nodes, depth, &mut values);
        values.extend([json!("a"), json!(1), json!(0.5), json!(true), json!(null), json!([]), json!({}), json!("")]);
        let mut seen = HashSet::new();
        values.retain(|value| seen.insert(value.to_string()));
        values.truncate(PER_PART[depth]);
        values
    }

    fn scalars(&mut self, keyword: &Keyword, values: &mut Vec<Value>) {
        match keyword {
            Keyword::Enum(listed) => values.extend(listed.iter().take(20).cloned()),
            Keyword::Minimum(limit, _) | Keyword::Maximum(limit, _) => {
                let one = Exact::one();
                let near = [limit.clone(), limit.plus(&one), limit.minus(&one), limit.towards(&limit.plus(&one), 1, 2)];
                values.extend(near.iter().filter_map(Exact::to_value));
            }
            Keyword::MultipleOf(unit) => {
                let more =
                    [unit.clone(), unit.times(&2.into()), unit.times(&3.into()), unit.towards(&Exact::from(0), 1, 2)];
                values.extend(more.iter().filter_map(Exact::to_value));
            }
            Keyword::MinLength(length) | Keyword::MaxLength(length) if *length < WITNESS_CHARACTERS => {
                let length = *length as usize;
                values.extend([length, length + 1, length.saturating_sub(1)].map(|length| json!("a".repeat(length))));
                values.push(json!("\u{1F600}".repeat(length)));
            }
            Keyword::Pattern(pattern) => {
                let wanted = Wanted { matched: vec![*pattern], ..Wanted::default() };
                let mut other = Wanted { unmatched: vec![*pattern], ..Wanted::default() };
                other.excluded.insert(String::new());
                for wanted in [wanted, other] {
                    if let FoundString::Some(text) = self.arena.patterns.find(&wanted, self.meter) {
                        values.push(Value::from(text));
                    }
                }
            }
            Keyword::Format(_) => values.extend(SAMPLES.map(Value::from)),
            _ => {}
        }
    }

    fn objects(&mut self, nodes: &[NodeId], depth: usize, values: &mut Vec<Value>) {
        let names = self.names(nodes);
        if names.is_empty() {
            return;
        }
        let required = self.required(nodes);
        let mut choices: Vec<(String, Vec<Value>)> = Vec::new();
        for name in names {
            let inner = member_nodes(self.arena, nodes, &name);
            let options = self.values(&inner, depth + 1);
            choices.push((name, options));
        }
        let first = |name: &String, options: &[Value]| Some((name.clone(), options.first()?.clone()));
        let full: Map<String, Value> = choices.iter().filter_map(|(name, options)| first(name, options)).collect();
        let least: Map<String, Value> = full
            .iter()
            .filter(|(name, _)| required.contains(*name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        values.push(Value::Object(least.clone()));
        values.push(Value::Object(full.clone()));
        for base in [&least, &full] {
            let mut with_other = base.clone();
            with_other.insert("zz".into(), json!(1));
            values.push(Value::Object(with_other));
            for (name, options) in choices.iter().take(VARIED) {
                // Each variation is a copy of the whole object.
                if !self.meter.take((base.len() * (2 + options.len())) as u64 / MEMBERS_PER_STEP) {
                    return;
                }
                let mut without = base.clone();
                without.remove(name);
                values.push(Value::Object(without));
                for option in options {
                    let mut with = base.clone();
                    with.insert(name.clone(), option.clone());
                    values.push(Value::Object(with));
                }
            }
        }
    }

    fn arrays(&mut self, nodes: &[NodeId], depth: usize, values: &mut Vec<Value>) {
        let mut longest = 2u64;
        let mut speaks = false;
        for node in nodes {
            for clause in self.arena.clauses(*node).iter() {
                speaks |= clause.keyword.about() == Some(super::node::Type::Array);
                longest = longest.max(match &clause.keyword {
                    Keyword::MinItems(count) | Keyword::MaxItems(count) => count.saturating_add(1),
                    Keyword::Items(items) => items.prefix.len() as u64 + 1,
                    Keyword::Contains { min, max, .. } => {
                        min.saturating_add(if *max < 8 { *max } else { 0 }).saturating_add(1)
                    }
                    _ => 0,
                });
            }
        }
        if !speaks {
            return;
        }
        let longest = longest.min(8) as usize;
        let mut options = Vec::new();
        for index in 0..longest {
            let inner = item_nodes(self.arena, nodes, index);
            options.push(self.values(&inner, depth + 1));
        }
        for length in 0..=longest {
            let pick = |shift: usize| -> Vec<Value> {
                options[..length]
                    .iter()
                    .enumerate()
                    .filter_map(|(index, options)| options.get((shift * index) % options.len().max(1)).cloned())
                    .collect()
            };
            values.extend([0, 1, 2].map(|shift| Value::Array(pick(shift))));
            for option in options.get(length.saturating_sub(1)).into_iter().flatten() {
                let mut items = pick(0);
                if let Some(last) = items.last_mut() {
                    *last = option.clone();
                    values.push(Value::Array(items));
                }
            }
        }
    }

    /// Names of members that the nodes speak about.
    fn names(&mut self, nodes: &[NodeId]) -> Vec<String> {
        let mut names = BTreeSet::new();
        for node in nodes {
            for clause in self.arena.clauses(*node).iter() {
                match &clause.keyword {
                    Keyword::Required(required) => names.extend(required.iter().cloned()),
                    Keyword::Members(members) => {
                        names.extend(members.named.keys().cloned());
                        for (pattern, ..) in &members.patterns {
                            let wanted = Wanted { matched: vec![*pattern], ..Wanted::default() };
                            if let FoundString::Some(text) = self.arena.patterns.find(&wanted, self.meter) {
                                names.insert(text);
                            }
                        }
                    }
                    Keyword::DependentRequired(lists) => {
                        names.extend(lists.iter().flat_map(|(name, needs)| [name].into_iter().chain(needs)).cloned());
                    }
                    Keyword::DependentSchemas(schemas) => names.extend(schemas.keys().cloned()),
                    Keyword::MinProperties(_) | Keyword::MaxProperties(_) | Keyword::PropertyNames(_) => {
                        names.extend(["a", "b", "c"].map(str::to_owned));
                    }
                    _ => {}
                }
            }
        }
        names.into_iter().collect()
    }

    fn required(&self, nodes: &[NodeId]) -> BTreeSet<String> {
        let clauses = nodes.iter().flat_map(|node| self.arena.node(*node).clauses.iter());
        let lists = clauses.filter_map(|clause| match &clause.keyword {
            Keyword::Required(names) => Some(names.clone()),
            _ => None,
        });
        lists.flatten().collect()
    }
}
