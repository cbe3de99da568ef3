//! Objects: named members, members that must exist somewhere, and counts.
//!
//! Members do not depend on each other except by their number, so each is a state of its own. Of names that no schema
//! mentions, one per combination of patterns stands for all.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::goal::{Among, Lit, SomeMember};
use super::shape::ObjectShape;
use super::{Search, SearchAnswer, State};
use crate::compat::equal::same;
use crate::compat::node::Side;
use crate::compat::pattern::PatternId;
use crate::limits::WITNESS_MEMBERS;

/// One shape that is being solved.
pub(super) struct ObjectSearch<'s> {
    pub state: &'s State,
    pub shape: &'s ObjectShape,
    /// Names that some schema mentions here.
    pub mentioned: BTreeSet<String>,
    /// Patterns that tell other names apart.
    pub patterns: BTreeSet<PatternId>,
    /// At least so many members.
    pub min: u64,
    /// Something was not tried, or could not be said.
    pub doubt: bool,
}

/// What the members must be, besides what the schemas say about all.
type Demands = BTreeMap<String, Vec<Lit>>;

impl Search<'_> {
    pub(super) fn object(&mut self, state: &State, shape: &ObjectShape, except: &[Value]) -> SearchAnswer {
        let mut object = self.survey(state, shape);
        let demand = |name: &String| (name.clone(), shape.member.get(name).cloned().unwrap_or_default());
        let demands: Demands = shape.present.iter().map(demand).collect();
        for name in shape.present.iter() {
            if self.names_refuse(&mut object, name) {
                return SearchAnswer::No;
            }
        }
        if shape.min > WITNESS_MEMBERS {
            object.doubt = true;
        }
        let mut found = self.settle(&mut object, 0, &demands);
        if found.as_ref().is_some_and(|found| except.iter().any(|other| same(other, found))) {
            object.doubt = true;
            object.min = found.as_ref().and_then(Value::as_object).map_or(0, |found| found.len() as u64 + 1);
            let allowed = shape.max.is_none_or(|max| object.min <= max);
            found = if allowed { self.settle(&mut object, 0, &demands) } else { None };
        }
        match found {
            Some(found) => self.accept(state, Some(found)),
            None if object.doubt || self.meter.is_spent() => SearchAnswer::Maybe(None),
            None => SearchAnswer::No,
        }
    }

    fn survey<'s>(&self, state: &'s State, shape: &'s ObjectShape) -> ObjectSearch<'s> {
        let mut mentioned: BTreeSet<String> = shape.present.union(&shape.absent).cloned().collect();
        let mut patterns = BTreeSet::new();
        for (members, _) in &shape.each {
            mentioned.extend(members.named.keys().cloned());
            patterns.extend(members.patterns.iter().map(|(pattern, ..)| *pattern));
        }
        for some in &shape.some {
            match &some.among {
                Among::Matching(pattern) => drop(patterns.insert(*pattern)),
                Among::Outside(outside) => {
                    mentioned.extend(outside.0.iter().cloned());
                    patterns.extend(outside.1.iter().copied());
                }
                Among::Any => {}
            }
        }
        if let Some(declared) = state.declared.as_ref().filter(|declared| !declared.all) {
            mentioned.extend(declared.names.iter().cloned());
            patterns.extend(declared.patterns.iter().copied());
        }
        ObjectSearch { state, shape, mentioned, patterns, min: shape.min, doubt: false }
    }

    /// Finds a name for each member that must exist, in every way, and then builds the object.
    fn settle(&mut self, object: &mut ObjectSearch<'_>, index: usize, demands: &Demands) -> Option<Value> {
        if !self.meter.take(1) {
            object.doubt = true;
            return None;
        }
        let Some(some) = object.shape.some.get(index) else { return self.build(object, demands) };
        let full = object.shape.max.is_some_and(|max| demands.len() as u64 >= max);
        let known: Vec<String> =
            object.mentioned.iter().filter(|name| !full || demands.contains_key(*name)).cloned().collect();
        for name in known {
            if let Some(found) = self.settle_as(object, some, index, &name, demands) {
                return Some(found);
            }
        }
        // A name that was found for another such member serves too.
        let made: Vec<String> = demands.keys().filter(|name| !object.mentioned.contains(*name)).cloned().collect();
        for name in made {
            if let Some(found) = self.settle_as(object, some, index, &name, demands) {
                return Some(found);
            }
        }
        if full {
            return None;
        }
        let used: Vec<String> = demands.keys().cloned().collect();
        let others = object.shape.some.iter().filter_map(|other| other.name).filter(|name| Some(*name) != some.name);
        let others: Vec<Lit> = others.collect();
        for name in self.other_names(object, some.name, &others, &used) {
            if let Some(found) = self.settle_as(object, some, index, &name, demands) {
                return Some(found);
            }
        }
        None
    }

    fn settle_as(
        &mut self,
        object: &mut ObjectSearch<'_>,
        some: &SomeMember,
        index: usize,
        name: &str,
        demands: &Demands,
    ) -> Option<Value> {
        if object.shape.absent.contains(name) || !self.is_among(object, some, name) || self.names_refuse(object, name) {
            return None;
        }
        if let Some(lit) = some.name {
            match self.name_fits(lit, name) {
                Some(true) => {}
                Some(false) => return None,
                None => object.doubt = true,
            }
        }
        let mut demands = demands.clone();
        demands.entry(name.to_owned()).or_default().extend(some.value);
        let lits = self.demanded_lits(object, name, &demands);
        if self.solve_member(name, &lits).is_no() {
            return None;
        }
        self.settle(object, index + 1, &demands)
    }

    fn is_among(&mut self, object: &mut ObjectSearch<'_>, some: &SomeMember, name: &str) -> bool {
        if some.value.is_some() && self.is_exempt_member(object.state, some.side, name) {
            return false;
        }
        let mut matches = |pattern: PatternId| match self.arena.patterns.matches(pattern, name) {
            Some(matches) => Some(matches),
            None => {
                object.doubt = true;
                None
            }
        };
        match &some.among {
            Among::Any => true,
            Among::Matching(pattern) => matches(*pattern) != Some(false),
            Among::Outside(outside) => {
                !outside.0.iter().any(|other| other == name)
                    && !outside.1.iter().any(|pattern| matches(*pattern) == Some(true))
            }
        }
    }

    pub(super) fn is_exempt_member(&mut self, state: &State, side: Side, name: &str) -> bool {
        match (side, &state.declared) {
            (Side::New, Some(declared)) => !declared.declares(self.arena, name),
            _ => false,
        }
    }

    fn demanded_lits(&mut self, object: &ObjectSearch<'_>, name: &str, demands: &Demands) -> Vec<Lit> {
        let demanded = demands.get(name).map_or(&[][..], Vec::as_slice);
        self.member_lits(object.state, object.shape, name, demanded)
    }

    /// Everything that the value of this member must be.
    pub(super) fn member_lits(&mut self, state: &State, shape: &ObjectShape, name: &str, demanded: &[Lit]) -> Vec<Lit> {
        let mut lits = demanded.to_vec();
        for (members, side) in &shape.each {
            self.meter.tick();
            if self.is_exempt_member(state, *side, name) {
                continue;
            }
            let mut is_covered = false;
            if let Some(node) = members.named.get(name) {
                lits.push(Lit::holds(*node));
                is_covered = true;
            }
            for (pattern, _, node) in &members.patterns {
                match self.arena.patterns.matches(*pattern, name) {
                    Some(true) => {
                        lits.push(Lit::holds(*node));
                        is_covered = true;
                    }
                    Some(false) => {}
                    // Neither the pattern's schema nor the one for the rest is sure to apply.
                    None => is_covered = true,
                }
            }
            if let Some(node) = members.additional.filter(|_| !is_covered) {
                lits.push(Lit::holds(node));
            }
        }
        lits
    }

    fn build(&mut self, object: &mut ObjectSearch<'_>, demands: &Demands) -> Option<Value> {
        if object.shape.max.is_some_and(|max| demands.len() as u64 > max) {
            return None;
        }
        let mut members = Map::new();
        let mut all_said = true;
        for name in demands.keys() {
            let lits = self.demanded_lits(object, name, demands);
            match self.solve_member(name, &lits) {
                SearchAnswer::No => return None,
                SearchAnswer::Maybe(Some(value)) => drop(members.insert(name.clone(), value)),
                SearchAnswer::Maybe(None) => all_said = false,
            }
        }
        if !all_said || object.min > WITNESS_MEMBERS {
            object.doubt = true;
            return None;
        }
        self.fill_up(object, &mut members);
        (members.len() as u64 >= object.min).then_some(Value::Object(members))
    }

    /// Adds members until there are enough, as far as there are more.
    fn fill_up(&mut self, object: &mut ObjectSearch<'_>, members: &mut Map<String, Value>) {
        let none = Demands::new();
        let known: Vec<String> = object.mentioned.iter().cloned().collect();
        for name in known {
            if members.len() as u64 >= object.min {
                return;
            }
            let taken = members.contains_key(&name) || object.shape.absent.contains(&name);
            if !taken && !self.names_refuse(object, &name) {
                self.add(object, members, name, &none);
            }
        }
        while (members.len() as u64) < object.min {
            let before = members.len();
            let used: Vec<String> = members.keys().cloned().collect();
            for name in self.other_names(object, None, &[], &used) {
                if (members.len() as u64) < object.min {
                    self.add(object, members, name, &none);
                }
            }
            if members.len() == before || self.meter.is_spent() {
                return;
            }
        }
    }

    fn add(
        &mut self,
        object: &mut ObjectSearch<'_>,
        members: &mut Map<String, Value>,
        name: String,
        demands: &Demands,
    ) {
        let lits = self.demanded_lits(object, &name, demands);
        match self.solve_member(&name, &lits) {
            SearchAnswer::No => {}
            SearchAnswer::Maybe(Some(value)) => drop(members.insert(name, value)),
            SearchAnswer::Maybe(None) => object.doubt = true,
        }
    }
}
