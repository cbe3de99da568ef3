//! What a branch has gathered for documents of one type.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::Value;

use super::goal::{Atom, Lit, SomeMember};
use crate::compat::node::{Bound, Items, Members, NodeId, Side};
use crate::compat::number::Exact;
use crate::compat::pattern::PatternId;
use crate::limits::MULTIPLE_BITS;

#[derive(Clone, Default)]
pub(super) struct DocumentShape {
    pub except: Vec<Value>,
    pub number: NumberShape,
    pub string: StringShape,
    pub array: ArrayShape,
    pub object: ObjectShape,
}

#[derive(Clone, Default)]
pub(super) struct NumberShape {
    pub lower: Option<(Exact, Bound)>,
    pub upper: Option<(Exact, Bound)>,
    pub multiple: Option<Exact>,
    pub not_multiples: Vec<Exact>,
}

#[derive(Clone, Default)]
pub(super) struct StringShape {
    pub min: u64,
    pub max: Option<u64>,
    pub matched: Vec<PatternId>,
    pub unmatched: Vec<PatternId>,
    pub formats: BTreeSet<String>,
    pub not_formats: BTreeSet<String>,
}

#[derive(Clone, Default)]
pub(super) struct ArrayShape {
    pub min: u64,
    pub max: Option<u64>,
    pub unique: bool,
    pub repeats: bool,
    pub each: Vec<Items>,
    pub at: BTreeMap<usize, Vec<Lit>>,
    /// Somewhere from this position.
    pub from: Vec<(usize, Lit)>,
    pub at_least: Vec<(u64, NodeId)>,
    pub at_most: Vec<(u64, NodeId)>,
}

#[derive(Clone, Default)]
pub(super) struct ObjectShape {
    pub min: u64,
    pub max: Option<u64>,
    pub present: BTreeSet<String>,
    pub absent: BTreeSet<String>,
    pub names: Vec<NodeId>,
    pub each: Vec<(Rc<Members>, Side)>,
    /// What the named members must be, besides.
    pub member: BTreeMap<String, Vec<Lit>>,
    pub some: Vec<SomeMember>,
}

fn lower_max(max: &mut Option<u64>, to: u64) {
    *max = Some(max.map_or(to, |max| max.min(to)));
}

impl DocumentShape {
    /// `false` where it contradicts what is known.
    pub fn add(&mut self, atom: Atom) -> bool {
        let names_agree = match &atom {
            Atom::Present(name) | Atom::Member(name, ..) => !self.object.absent.contains(name),
            Atom::Absent(name) => !self.object.present.contains(name),
            _ => true,
        };
        match atom {
            Atom::Values(_) => {}
            Atom::Except(value) => self.leave_out(value),
            Atom::Lower(limit, bound) => {
                let stronger = |known: &(Exact, Bound)| (&limit, bound) > (&known.0, known.1);
                if self.number.lower.as_ref().is_none_or(stronger) {
                    self.number.lower = Some((limit, bound));
                }
            }
            Atom::Upper(limit, bound) => {
                let stronger = |known: &(Exact, Bound)| limit < known.0 || (limit == known.0 && bound > known.1);
                if self.number.upper.as_ref().is_none_or(stronger) {
                    self.number.upper = Some((limit, bound));
                }
            }
            Atom::Multiple(unit) => {
                // Of what would grow too large one is left out, which lets more numbers pass.
                let both = self.number.multiple.as_ref().map(|known| known.common_multiple(&unit));
                let both = both.unwrap_or(unit);
                if self.number.multiple.is_none() || both.bits() <= MULTIPLE_BITS {
                    self.number.multiple = Some(both);
                }
            }
            Atom::NotMultiple(unit) => self.number.not_multiples.push(unit),
            Atom::MinLength(min) => self.string.min = self.string.min.max(min),
            Atom::MaxLength(max) => lower_max(&mut self.string.max, max),
            Atom::Matches(pattern) => self.string.matched.push(pattern),
            Atom::MatchesNot(pattern) => self.string.unmatched.push(pattern),
            Atom::Format(format) => drop(self.string.formats.insert(format)),
            Atom::FormatNot(format) => drop(self.string.not_formats.insert(format)),
            other => self.add_container(other),
        }
        names_agree && self.is_within_limits()
    }

    /// What is not empty has a member or an item.
    pub fn leave_out(&mut self, value: Value) {
        match &value {
            Value::Array(items) if items.is_empty() => self.array.min = self.array.min.max(1),
            Value::Object(members) if members.is_empty() => self.object.min = self.object.min.max(1),
            _ => self.except.push(value),
        }
    }

    fn add_container(&mut self, atom: Atom) {
        let (array, object) = (&mut self.array, &mut self.object);
        match atom {
            Atom::MinItems(min) => array.min = array.min.max(min),
            Atom::MaxItems(max) => lower_max(&mut array.max, max),
            Atom::Unique => array.unique = true,
            Atom::Repeats => {
                array.repeats = true;
                array.min = array.min.max(2);
            }
            Atom::EachItem(items) => array.each.push(items),
            Atom::ItemAt(index, lit) => {
                array.at.entry(index).or_default().push(lit);
                array.min = array.min.max(index as u64 + 1);
            }
            Atom::ItemFrom(from, lit) => {
                array.from.push((from, lit));
                array.min = array.min.max(from as u64 + 1);
            }
            Atom::AtLeast(0, _) | Atom::AtMost(u64::MAX, _) => {}
            Atom::AtLeast(count, node) => {
                array.at_least.push((count, node));
                array.min = array.min.max(count);
            }
            Atom::AtMost(count, node) => array.at_most.push((count, node)),
            Atom::Present(name) => drop(object.present.insert(name)),
            Atom::Absent(name) => drop(object.absent.insert(name)),
            Atom::MinMembers(min) => object.min = object.min.max(min),
            Atom::MaxMembers(max) => lower_max(&mut object.max, max),
            Atom::EachName(node) => object.names.push(node),
            Atom::EachMember(members, side) => object.each.push((members, side)),
            Atom::Member(name, lit, _) => {
                object.present.insert(name.clone());
                object.member.entry(name).or_default().push(lit);
            }
            Atom::SomeMember(some) => {
                object.some.push(some);
                object.min = object.min.max(1);
            }
            _ => {}
        }
    }

    /// No limit contradicts another.
    pub fn is_within_limits(&self) -> bool {
        let ordered = |min: u64, max: Option<u64>| max.is_none_or(|max| min <= max);
        let bounds = match (&self.number.lower, &self.number.upper) {
            (Some((lower, _)), Some((upper, _))) => lower <= upper,
            _ => true,
        };
        bounds
            && ordered(self.string.min, self.string.max)
            && ordered(self.array.min, self.array.max)
            && !(self.array.unique && self.array.repeats)
            && ordered(self.object.min.max(self.object.present.len() as u64), self.object.max)
    }
}
