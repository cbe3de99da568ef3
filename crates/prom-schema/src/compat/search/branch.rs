//! Takes a state apart, choice by choice, until a shape is left.

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::Value;

use super::goal::{Atom, Choice, Goal, Lit, Polarity};
use super::shape::DocumentShape;
use super::{Search, SearchAnswer, State};
use crate::compat::equal::ListedValues;
use crate::compat::node::{Side, Type};
use crate::compat::number::Exact;
use crate::compat::settings::CompatPolicy;
use crate::limits::SEARCH_CALLS;

/// Goals and known parts of a shape that are copied in the time of one step.
const COPIES_PER_STEP: u64 = 32;
/// Goals that are held against what is known in the time of one step.
const GOALS_PER_STEP: u64 = 16;

/// A way through the choices so far.
#[derive(Clone)]
pub(super) struct Branch {
    kind: Type,
    todo: Vec<Goal>,
    choices: Vec<Choice>,
    /// Classes of nodes that hold and that fail.
    holds: HashSet<u32>,
    fails: HashSet<u32>,
    shape: DocumentShape,
}

/// What became of the goals that leave no choice.
enum Step {
    Contradiction,
    Spent,
    /// The document is one of these.
    Values(Rc<ListedValues>),
    Done,
}

/// What the members that are known say about a goal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Impossible,
    Given,
    Open,
}

impl Search<'_> {
    pub(super) fn solve_type(&mut self, state: &State, kind: Type) -> SearchAnswer {
        let mut shape = DocumentShape::default();
        state.excluded.iter().for_each(|value| shape.leave_out(value.clone()));
        let branch = Branch {
            kind,
            todo: state.lits.iter().map(|lit| Goal::Lit(*lit)).collect(),
            choices: Vec::new(),
            holds: HashSet::new(),
            fails: HashSet::new(),
            shape,
        };
        self.run(state, branch)
    }

    fn run(&mut self, state: &State, branch: Branch) -> SearchAnswer {
        if !self.meter.take(1) || self.calls >= SEARCH_CALLS {
            return SearchAnswer::Maybe(None);
        }
        self.calls += 1;
        let answer = self.run_on(state, branch);
        self.calls -= 1;
        answer
    }

    fn run_on(&mut self, state: &State, mut branch: Branch) -> SearchAnswer {
        loop {
            match self.work_off(state, &mut branch) {
                Step::Contradiction => return SearchAnswer::No,
                Step::Spent => return SearchAnswer::Maybe(None),
                Step::Values(values) => return self.try_values(state, branch.kind, &values),
                Step::Done => {}
            }
            if !self.prune(&mut branch) {
                return SearchAnswer::No;
            }
            if branch.todo.is_empty() && !self.prune_by_members(state, &mut branch) {
                return SearchAnswer::No;
            }
            if branch.todo.is_empty() {
                break;
            }
        }
        // A choice between schemas says more about the members than one between members, so it comes first.
        let is_of_members = |choice: &Choice| choice.iter().flatten().any(|goal| matches!(goal, Goal::Atom(_)));
        let burden = |index: &usize| (is_of_members(&branch.choices[*index]), branch.choices[*index].len());
        let fewest = (0..branch.choices.len()).min_by_key(burden);
        let Some(fewest) = fewest else { return self.leaf(state, &branch) };
        let ways = branch.choices.swap_remove(fewest);
        let mut answer = SearchAnswer::No;
        // Each way copies what is left.
        let copies = branch.parts() / COPIES_PER_STEP;
        for way in ways {
            self.meter.take(copies);
            let mut next = branch.clone();
            next.todo = way;
            match self.run(state, next) {
                SearchAnswer::No => {}
                SearchAnswer::Maybe(None) => answer = SearchAnswer::Maybe(None),
                found => return found,
            }
            if self.meter.is_spent() {
                return SearchAnswer::Maybe(None);
            }
        }
        answer
    }

    fn work_off(&mut self, state: &State, branch: &mut Branch) -> Step {
        while let Some(goal) = branch.todo.pop() {
            self.meter.tick();
            if self.meter.is_spent() {
                return Step::Spent;
            }
            let possible = match goal {
                Goal::Lit(lit) => self.expand(branch, lit),
                Goal::Atom(Atom::Values(values)) => return Step::Values(values),
                Goal::Atom(Atom::Multiple(unit)) => {
                    let common = branch.shape.number.multiple.as_ref();
                    self.meter.take(unit.cost() + common.map_or(0, Exact::cost));
                    branch.shape.add(Atom::Multiple(unit))
                }
                Goal::Atom(atom) => !self.is_exempt(state, &atom) && branch.shape.add(atom),
            };
            if !possible {
                return Step::Contradiction;
            }
        }
        Step::Done
    }

    /// Under the lenient policy, the judging side cannot refuse the value of a property that the other never declared.
    fn is_exempt(&mut self, state: &State, atom: &Atom) -> bool {
        match (atom, &state.declared) {
            (Atom::Member(name, _, Side::New), Some(declared)) if self.policy == CompatPolicy::Lenient => {
                !declared.declares(self.arena, name)
            }
            _ => false,
        }
    }

    fn expand(&mut self, branch: &mut Branch, lit: Lit) -> bool {
        let node = self.arena.node(lit.node);
        let (class, side) = (node.class, node.side);
        let (own, opposite) = match lit.sign {
            Polarity::Holds => (&mut branch.holds, &branch.fails),
            Polarity::Fails => (&mut branch.fails, &branch.holds),
        };
        if opposite.contains(&class) {
            return false;
        }
        if !own.insert(class) {
            return true;
        }
        let clauses = self.arena.clauses(lit.node);
        let about = clauses.iter().filter(|clause| clause.keyword.about().is_none_or(|about| about == branch.kind));
        let choices: Vec<Choice> = match lit.sign {
            Polarity::Holds => about.flat_map(|clause| self.holds(&clause.keyword, branch.kind, side)).collect(),
            Polarity::Fails => vec![about.flat_map(|clause| self.fails(&clause.keyword, branch.kind, side)).collect()],
        };
        choices.into_iter().all(|choice| branch.choose(choice))
    }

    /// Drops ways that lead nowhere and choices that are made. `false` where a choice has no way left.
    fn prune(&mut self, branch: &mut Branch) -> bool {
        let choices = std::mem::take(&mut branch.choices);
        self.meter.take(goals(&choices) / GOALS_PER_STEP);
        for choice in choices {
            let mut is_made = false;
            let mut ways = Vec::with_capacity(choice.len());
            for way in choice {
                let signs = |goal: &Goal| match goal {
                    Goal::Lit(lit) => {
                        let class = self.arena.node(lit.node).class;
                        let holds = (branch.holds.contains(&class), branch.fails.contains(&class));
                        match lit.sign {
                            Polarity::Holds => holds,
                            Polarity::Fails => (holds.1, holds.0),
                        }
                    }
                    Goal::Atom(atom) => branch.shape.knows(atom),
                };
                let signs: Vec<(bool, bool)> = way.iter().map(signs).collect();
                is_made |= signs.iter().all(|(is_so, _)| *is_so);
                if !signs.iter().any(|(_, is_not)| *is_not) {
                    ways.push(way);
                }
            }
            if !is_made && !branch.choose(ways) {
                return false;
            }
        }
        true
    }

    /// Drops ways whose members cannot be, and choices that the members make by themselves: without this, twenty
    /// alternatives that a tag tells apart are tried in every combination. `false` where no way is left.
    fn prune_by_members(&mut self, state: &State, branch: &mut Branch) -> bool {
        if branch.kind != Type::Object || branch.choices.is_empty() {
            return true;
        }
        let present: Vec<String> = branch.shape.object.present.iter().cloned().collect();
        for name in present {
            let lits = self.known_lits(state, branch, &name);
            if lits.len() > 1 && self.solve_member(&name, &lits).is_no() {
                return false;
            }
        }
        for choice in std::mem::take(&mut branch.choices) {
            let mut ways = Vec::with_capacity(choice.len());
            let mut is_made = false;
            for way in choice {
                let fates: Vec<Fate> = way.iter().map(|goal| self.fate(state, branch, goal)).collect();
                is_made |= fates.iter().all(|fate| *fate == Fate::Given);
                if !fates.contains(&Fate::Impossible) {
                    ways.push(way);
                }
            }
            if !is_made && !branch.choose(ways) {
                return false;
            }
        }
        true
    }

    fn known_lits(&mut self, state: &State, branch: &Branch, name: &str) -> Vec<Lit> {
        let object = &branch.shape.object;
        let demanded = object.member.get(name).map_or(&[][..], Vec::as_slice);
        self.member_lits(state, object, name, demanded)
    }

    fn fate(&mut self, state: &State, branch: &Branch, goal: &Goal) -> Fate {
        let Goal::Atom(atom @ Atom::Member(name, lit, _)) = goal else { return Fate::Open };
        if self.is_exempt(state, atom) {
            return Fate::Impossible;
        }
        let mut lits = self.known_lits(state, branch, name);
        lits.push(*lit);
        if self.solve_member(name, &lits).is_no() {
            return Fate::Impossible;
        }
        if !branch.shape.object.present.contains(name) {
            return Fate::Open;
        }
        lits.pop();
        lits.push(lit.opposite());
        if self.solve_member(name, &lits).is_no() { Fate::Given } else { Fate::Open }
    }

    fn leaf(&mut self, state: &State, branch: &Branch) -> SearchAnswer {
        let shape = &branch.shape;
        if !shape.is_within_limits() {
            return SearchAnswer::No;
        }
        match branch.kind {
            Type::Null => self.try_values(state, Type::Null, &[Value::Null]),
            Type::Boolean => self.try_values(state, Type::Boolean, &[Value::Bool(true), Value::Bool(false)]),
            Type::Number => self.number(state, &shape.number, &shape.except),
            Type::String => self.string(state, &shape.string, &shape.except),
            Type::Array => self.array(state, &shape.array, &shape.except),
            Type::Object => self.object(state, &shape.object, &shape.except),
        }
    }
}

/// Goals of all ways of these choices.
fn goals(choices: &[Choice]) -> u64 {
    choices.iter().flatten().map(|way| way.len() as u64).sum()
}

impl Branch {
    /// How much a copy takes.
    fn parts(&self) -> u64 {
        let object = &self.shape.object;
        let known = object.present.len() + object.absent.len() + object.member.len() + self.shape.except.len();
        goals(&self.choices) + (self.holds.len() + self.fails.len() + known) as u64
    }

    /// `false` where there is no way.
    fn choose(&mut self, mut choice: Choice) -> bool {
        match choice.len() {
            0 => return false,
            1 => self.todo.extend(choice.pop().unwrap_or_default()),
            _ => self.choices.push(choice),
        }
        true
    }
}

impl DocumentShape {
    /// Whether it is known to be so, and known not to be so.
    fn knows(&self, atom: &Atom) -> (bool, bool) {
        let object = &self.object;
        match atom {
            Atom::Present(name) => (object.present.contains(name), object.absent.contains(name)),
            Atom::Absent(name) => (object.absent.contains(name), object.present.contains(name)),
            Atom::Member(name, ..) => (false, object.absent.contains(name)),
            _ => (false, false),
        }
    }
}
