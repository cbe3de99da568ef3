//! Whether a document is valid under a node: our own evaluation, with exact numbers, a budget, and the exemptions of the
//! lenient policy. It is simple on purpose, and shares nothing with the search that it checks.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use super::equal::repeat;
use super::node::{Bound, Keyword, Members, NodeId, NumberType, Side, Type, Types};
use super::number::Exact;
use super::read::Arena;
use crate::limits::{EVALUATION_DEPTH, EVALUATION_STEPS};
use crate::references::escape;

/// Subschemas that are evaluated in the time of one step of the search.
const EVALUATIONS_PER_STEP: u64 = 4;

/// Valid or not; `None` where it could not be decided.
pub(super) type Evaluation = Option<bool>;

pub(super) struct Evaluator<'a> {
    arena: &'a mut Arena,
    /// Pointers of properties that the judging side must not look at.
    exempt: &'a HashSet<String>,
    steps_left: u32,
    /// Subschemas around the current one.
    depth: usize,
}

/// Members and items that a schema has looked at.
#[derive(Default)]
struct Seen {
    names: BTreeSet<String>,
    items: BTreeSet<usize>,
}

impl Seen {
    fn add(&mut self, other: Self) {
        self.names.extend(other.names);
        self.items.extend(other.items);
    }
}

fn and(left: Evaluation, right: Evaluation) -> Evaluation {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn or(left: Evaluation, right: Evaluation) -> Evaluation {
    and(left.map(|left| !left), right.map(|right| !right)).map(|neither| !neither)
}

/// Stops at the first that is false.
fn all(verdicts: impl Iterator<Item = Evaluation>) -> Evaluation {
    let mut all = Some(true);
    for verdict in verdicts {
        all = and(all, verdict);
        if all == Some(false) {
            break;
        }
    }
    all
}

impl<'a> Evaluator<'a> {
    pub fn new(arena: &'a mut Arena, exempt: &'a HashSet<String>) -> Self {
        Self { arena, exempt, steps_left: EVALUATION_STEPS, depth: 0 }
    }

    pub fn is_valid(&mut self, value: &Value, node: NodeId) -> Evaluation {
        self.judge(value, node, "").0
    }

    pub fn is_spent(&self) -> bool {
        self.steps_left == 0
    }

    /// In steps of a comparison.
    pub fn cost(&self) -> u64 {
        u64::from(EVALUATION_STEPS - self.steps_left) / EVALUATIONS_PER_STEP
    }

    fn judge(&mut self, value: &Value, node: NodeId, path: &str) -> (Evaluation, Seen) {
        if self.steps_left == 0 || self.depth > EVALUATION_DEPTH {
            return (None, Seen::default());
        }
        self.steps_left -= 1;
        self.depth += 1;
        let judged = self.judge_clauses(value, node, path);
        self.depth -= 1;
        judged
    }

    fn judge_clauses(&mut self, value: &Value, node: NodeId, path: &str) -> (Evaluation, Seen) {
        let mut seen = Seen::default();
        let clauses = self.arena.clauses(node);
        let side = self.arena.node(node).side;
        let kind = Type::of(value);
        let mut verdict = Some(true);
        let is_last =
            |keyword: &Keyword| matches!(keyword, Keyword::UnevaluatedItems(_) | Keyword::UnevaluatedProperties(_));
        let (last, first): (Vec<_>, Vec<_>) = clauses.iter().partition(|clause| is_last(&clause.keyword));
        for clause in first.into_iter().chain(last) {
            if clause.keyword.about().is_some_and(|about| about != kind) {
                continue;
            }
            verdict = and(verdict, self.clause(value, &clause.keyword, side, path, &mut seen));
            if verdict == Some(false) {
                return (verdict, Seen::default());
            }
        }
        (verdict, seen)
    }

    fn clause(&mut self, value: &Value, keyword: &Keyword, side: Side, path: &str, seen: &mut Seen) -> Evaluation {
        match keyword {
            Keyword::False => Some(false),
            Keyword::Types(types) => has_type(value, types),
            Keyword::Enum(values) => Some(values.has(value)),
            Keyword::Opaque => None,
            Keyword::AllOf(_)
            | Keyword::AnyOf(_)
            | Keyword::OneOf(_)
            | Keyword::Not(_)
            | Keyword::Ref(_)
            | Keyword::If { .. } => self.combination(value, keyword, path, seen),
            _ => match value {
                Value::Number(number) => Exact::read(number).map(|number| {
                    self.note_division(keyword);
                    number_fits(&number, keyword)
                }),
                Value::String(text) => self.string(text, keyword),
                Value::Array(items) => self.array(items, keyword, path, seen),
                Value::Object(members) => self.object(value, members, keyword, side, path, seen),
                _ => Some(true),
            },
        }
    }

    /// Dividing by a long number takes longer than looking at a subschema.
    fn note_division(&mut self, keyword: &Keyword) {
        if let Keyword::MultipleOf(unit) = keyword {
            let cost = u32::try_from(EVALUATIONS_PER_STEP * unit.cost()).unwrap_or(u32::MAX);
            self.steps_left = self.steps_left.saturating_sub(1 + cost);
        }
    }

    fn combination(&mut self, value: &Value, keyword: &Keyword, path: &str, seen: &mut Seen) -> Evaluation {
        let mut look = |node: NodeId, seen: &mut Seen| {
            let (verdict, looked) = self.judge(value, node, path);
            seen.add(looked);
            verdict
        };
        match keyword {
            Keyword::AllOf(nodes) => all(nodes.iter().map(|node| look(*node, seen))),
            Keyword::AnyOf(nodes) => {
                let mut any = Some(false);
                for node in nodes {
                    any = or(any, look(*node, seen));
                }
                any
            }
            Keyword::OneOf(nodes) => {
                let verdicts: Vec<Evaluation> = nodes.iter().map(|node| look(*node, seen)).collect();
                let passed = verdicts.iter().filter(|verdict| **verdict == Some(true)).count();
                let unknown = verdicts.contains(&None);
                match passed {
                    0 | 1 if unknown => None,
                    passed => Some(passed == 1),
                }
            }
            Keyword::Not(node) => look(*node, &mut Seen::default()).map(|valid| !valid),
            Keyword::Ref(node) => look(*node, seen),
            Keyword::If { condition, then, otherwise } => match look(*condition, seen) {
                Some(true) => then.map_or(Some(true), |then| look(then, seen)),
                Some(false) => otherwise.map_or(Some(true), |otherwise| look(otherwise, seen)),
                None => None,
            },
            _ => Some(true),
        }
    }

    fn string(&mut self, text: &str, keyword: &Keyword) -> Evaluation {
        match keyword {
            Keyword::MinLength(min) => Some(text.chars().count() as u64 >= *min),
            Keyword::MaxLength(max) => Some(text.chars().count() as u64 <= *max),
            Keyword::Pattern(pattern) => self.arena.patterns.matches(*pattern, text),
            Keyword::Format(format) => self.arena.formats.accepts(format, text),
            _ => Some(true),
        }
    }

    fn array(&mut self, items: &[Value], keyword: &Keyword, path: &str, seen: &mut Seen) -> Evaluation {
        let length = items.len() as u64;
        match keyword {
            Keyword::MinItems(min) => Some(length >= *min),
            Keyword::MaxItems(max) => Some(length <= *max),
            Keyword::Unique => Some(!repeat(items)),
            Keyword::Items(tuple) => {
                let mut all = Some(true);
                for (index, item) in items.iter().enumerate() {
                    let Some(node) = tuple.prefix.get(index).copied().or(tuple.rest) else { break };
                    seen.items.insert(index);
                    all = and(all, self.judge(item, node, &format!("{path}/{index}")).0);
                }
                all
            }
            Keyword::Contains { node, min, max } => {
                let mut passed = 0;
                let mut unknown = 0;
                for (index, item) in items.iter().enumerate() {
                    match self.judge(item, *node, &format!("{path}/{index}")).0 {
                        Some(true) => {
                            seen.items.insert(index);
                            passed += 1;
                        }
                        Some(false) => {}
                        None => unknown += 1,
                    }
                }
                let least = (*min..=*max).contains(&passed);
                (unknown == 0).then_some(least)
            }
            Keyword::UnevaluatedItems(rest) => {
                let mut all = Some(true);
                for (index, item) in items.iter().enumerate().filter(|(index, _)| !seen.items.contains(index)) {
                    all = and(all, self.judge(item, rest.node, &format!("{path}/{index}")).0);
                }
                seen.items.extend(0..items.len());
                all
            }
            _ => Some(true),
        }
    }

    fn object(
        &mut self,
        value: &Value,
        members: &Map<String, Value>,
        keyword: &Keyword,
        side: Side,
        path: &str,
        seen: &mut Seen,
    ) -> Evaluation {
        let count = members.len() as u64;
        match keyword {
            Keyword::Required(names) => Some(names.iter().all(|name| members.contains_key(name))),
            Keyword::MinProperties(min) => Some(count >= *min),
            Keyword::MaxProperties(max) => Some(count <= *max),
            Keyword::PropertyNames(node) => {
                all(members.keys().map(|name| self.judge(&Value::from(name.as_str()), *node, "\u{0}").0))
            }
            Keyword::Members(group) => self.members(members, group, side, path, seen),
            Keyword::DependentRequired(lists) => {
                let holds = |(name, needs): (&String, &Vec<String>)| {
                    !members.contains_key(name) || needs.iter().all(|need| members.contains_key(need))
                };
                Some(lists.iter().all(holds))
            }
            Keyword::DependentSchemas(schemas) => {
                let mut all = Some(true);
                for (_, node) in schemas.iter().filter(|(name, _)| members.contains_key(*name)) {
                    let (verdict, looked) = self.judge(value, *node, path);
                    seen.add(looked);
                    all = and(all, verdict);
                }
                all
            }
            Keyword::UnevaluatedProperties(rest) => {
                let mut all = Some(true);
                for (name, member) in members {
                    let at = format!("{path}/{}", escape(name));
                    if !seen.names.contains(name) && !self.is_exempt(side, &at) {
                        all = and(all, self.judge(member, rest.node, &at).0);
                    }
                }
                seen.names.extend(members.keys().cloned());
                all
            }
            _ => Some(true),
        }
    }

    fn members(
        &mut self,
        members: &Map<String, Value>,
        group: &Members,
        side: Side,
        path: &str,
        seen: &mut Seen,
    ) -> Evaluation {
        let mut all = Some(true);
        for (name, member) in members {
            let at = format!("{path}/{}", escape(name));
            if self.is_exempt(side, &at) {
                seen.names.insert(name.clone());
                continue;
            }
            let mut nodes: Vec<NodeId> = group.named.get(name).copied().into_iter().collect();
            let mut unsure = false;
            for (pattern, _, node) in &group.patterns {
                match self.arena.patterns.matches(*pattern, name) {
                    Some(true) => nodes.push(*node),
                    Some(false) => {}
                    None => unsure = true,
                }
            }
            if unsure {
                all = and(all, None);
            } else if nodes.is_empty() {
                nodes.extend(group.additional);
            }
            if !nodes.is_empty() {
                seen.names.insert(name.clone());
            }
            for node in nodes {
                all = and(all, self.judge(member, node, &at).0);
            }
        }
        all
    }

    fn is_exempt(&self, side: Side, at: &str) -> bool {
        side == Side::New && !self.exempt.is_empty() && self.exempt.contains(at)
    }
}

fn has_type(value: &Value, types: &Types) -> Evaluation {
    match value {
        Value::Number(number) => match types.number {
            NumberType::None => Some(false),
            NumberType::Any => Some(true),
            NumberType::Integer => Exact::read(number).map(|number| number.is_multiple_of(&Exact::one())),
        },
        other => Some(types.others.contains(&Type::of(other))),
    }
}

fn number_fits(number: &Exact, keyword: &Keyword) -> bool {
    match keyword {
        Keyword::Minimum(bound, Bound::Inclusive) => number >= bound,
        Keyword::Minimum(bound, Bound::Exclusive) => number > bound,
        Keyword::Maximum(bound, Bound::Inclusive) => number <= bound,
        Keyword::Maximum(bound, Bound::Exclusive) => number < bound,
        Keyword::MultipleOf(unit) => number.is_multiple_of(unit),
        _ => true,
    }
}
