//! Searches for a document that some nodes accept and others refuse.
//!
//! A state is a set of nodes that must hold and of nodes that must fail. For each type of document it is taken apart
//! into branches, as a tableau prover does: `anyOf` holds if one of its parts holds, and fails if all of them fail. A
//! branch without choices left is a shape of one type, and `numbers`, `strings`, `arrays` and `objects` say whether a
//! document has it. Members and items are states of their own.
//!
//! `No` is a proof: what cannot be represented is left out, which only makes more documents pass. A document that is
//! found is evaluated against the whole state, so `Maybe(Some(_))` is a fact too. Everything else is `Maybe(None)`.
//!
//! A state that is met again below itself counts as `No` there: the smallest document of a state cannot contain another
//! document of the same state. So recursive schemas end.

mod arrays;
mod branch;
mod clauses;
mod goal;
mod numbers;
mod objects;
mod objects_keys;
mod shape;
mod strings;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

pub(super) use self::goal::{Lit, Polarity};
use super::declared::{Declared, item_nodes, member_nodes, speaks_of_parts, undeclared};
use super::equal::{canonical, same};
use super::evaluate::Evaluator;
use super::meter::Meter;
use super::node::{Clause, Keyword, NodeId, Side, Type};
use super::read::Arena;
use super::settings::CompatPolicy;
use crate::limits::SEARCH_DEPTH;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum SearchAnswer {
    /// No document.
    No,
    /// This document, which was evaluated; or one could not be ruled out.
    Maybe(Option<Value>),
}

impl SearchAnswer {
    pub fn is_no(&self) -> bool {
        *self == Self::No
    }
}

/// What a document must be, what it must not be, who declares its properties, and by which policy.
type Key = (BTreeSet<(u32, Side, Polarity)>, BTreeSet<String>, BTreeSet<u32>, CompatPolicy);

pub(super) struct Search<'a> {
    pub arena: &'a mut Arena,
    pub meter: &'a mut Meter,
    policy: CompatPolicy,
    /// Nodes of the old side that declare properties of the state that is being solved, in every branch; for the lenient
    /// policy.
    declaring: Rc<Vec<NodeId>>,
    known: HashMap<Key, SearchAnswer>,
    /// States that are being solved, outermost first.
    open: HashMap<Key, usize>,
    depth: usize,
    /// Choices around the current one, in all open states.
    calls: usize,
    /// The outermost open state whose `No` was assumed since.
    assumed: usize,
}

/// What a document must be.
#[derive(Clone)]
struct State {
    lits: Rc<Vec<Lit>>,
    excluded: Rc<Vec<Value>>,
    /// What the old side declares here, if that matters.
    declared: Option<Rc<Declared>>,
}

impl<'a> Search<'a> {
    pub fn new(arena: &'a mut Arena, meter: &'a mut Meter, policy: CompatPolicy) -> Self {
        Self {
            arena,
            meter,
            policy,
            declaring: Rc::default(),
            known: HashMap::new(),
            open: HashMap::new(),
            depth: 0,
            calls: 0,
            assumed: usize::MAX,
        }
    }

    /// A document for which all of these are so.
    pub fn solve(&mut self, lits: &[Lit]) -> SearchAnswer {
        let old = lits.iter().map(|lit| lit.node).filter(|node| self.arena.node(*node).side == Side::Old);
        let declaring = old.collect();
        self.solve_at(lits, &[], declaring)
    }

    /// A value for the member of this name.
    fn solve_member(&mut self, name: &str, lits: &[Lit]) -> SearchAnswer {
        let declaring = match self.policy {
            CompatPolicy::Strict => Vec::new(),
            CompatPolicy::Lenient => member_nodes(self.arena, &Rc::clone(&self.declaring), name),
        };
        self.solve_at(lits, &[], declaring)
    }

    /// An item for these positions.
    fn solve_item(&mut self, positions: &[usize], lits: &[Lit], excluded: &[Value]) -> SearchAnswer {
        let declaring = match self.policy {
            CompatPolicy::Strict => Vec::new(),
            CompatPolicy::Lenient => {
                positions.iter().flat_map(|at| item_nodes(self.arena, &self.declaring, *at)).collect()
            }
        };
        self.solve_at(lits, excluded, declaring)
    }

    /// Whether no document passes both, whatever is declared.
    fn are_apart(&mut self, left: NodeId, right: NodeId) -> bool {
        let policy = std::mem::replace(&mut self.policy, CompatPolicy::Strict);
        let answer = self.solve_at(&[Lit::holds(left), Lit::holds(right)], &[], Vec::new());
        self.policy = policy;
        answer.is_no()
    }

    fn solve_at(&mut self, lits: &[Lit], excluded: &[Value], mut declaring: Vec<NodeId>) -> SearchAnswer {
        match self.policy {
            CompatPolicy::Strict => declaring.clear(),
            CompatPolicy::Lenient => declaring.retain(|node| speaks_of_parts(self.arena, *node)),
        }
        let around = std::mem::replace(&mut self.declaring, Rc::new(declaring));
        let answer = self.solve_except(lits, excluded);
        self.declaring = around;
        answer
    }

    fn solve_except(&mut self, lits: &[Lit], excluded: &[Value]) -> SearchAnswer {
        if !self.meter.take(1) || self.depth >= SEARCH_DEPTH {
            return SearchAnswer::Maybe(None);
        }
        let Some(lits) = self.simplify(lits) else { return SearchAnswer::No };
        let key = self.key(&lits, excluded);
        if let Some(answer) = self.known.get(&key) {
            return answer.clone();
        }
        if let Some(depth) = self.open.get(&key) {
            self.assumed = self.assumed.min(*depth);
            return SearchAnswer::No;
        }
        let me = self.depth;
        let assumed_before = std::mem::replace(&mut self.assumed, usize::MAX);
        self.open.insert(key.clone(), me);
        self.depth += 1;
        let answer = self.solve_types(lits, excluded);
        self.depth -= 1;
        self.open.remove(&key);
        // A `No` that rests on the `No` of a state around this one holds only as long as that one is open.
        if self.assumed >= me {
            self.assumed = usize::MAX;
        }
        let rests_on_others = self.assumed != usize::MAX;
        self.assumed = self.assumed.min(assumed_before);
        let final_no = answer.is_no() && !rests_on_others;
        if (final_no || !answer.is_no()) && !self.meter.is_spent() {
            self.known.insert(key, answer.clone());
        }
        answer
    }

    /// Without repetitions and trivial parts; `None` where two of them contradict each other.
    fn simplify(&self, lits: &[Lit]) -> Option<Vec<Lit>> {
        let mut kept: Vec<Lit> = Vec::with_capacity(lits.len());
        let mut signs: HashMap<u32, Polarity> = HashMap::new();
        for lit in lits {
            let node = self.arena.node(lit.node);
            match lit.sign {
                Polarity::Holds if node.is_false() => return None,
                Polarity::Fails if node.is_true() => return None,
                Polarity::Holds if node.is_true() => continue,
                Polarity::Fails if node.is_false() => continue,
                _ => {}
            }
            if *signs.entry(node.class).or_insert(lit.sign) != lit.sign {
                return None;
            }
            if !kept.contains(lit) {
                kept.push(*lit);
            }
        }
        Some(kept)
    }

    fn key(&self, lits: &[Lit], excluded: &[Value]) -> Key {
        let entry = |lit: &Lit| {
            let node = self.arena.node(lit.node);
            // Only the lenient policy treats the sides differently.
            let side = if self.policy == CompatPolicy::Lenient { node.side } else { Side::Old };
            (node.class, side, lit.sign)
        };
        let declaring = self.declaring.iter().map(|node| self.arena.node(*node).class).collect();
        (lits.iter().map(entry).collect(), excluded.iter().map(canonical).collect(), declaring, self.policy)
    }

    fn solve_types(&mut self, lits: Vec<Lit>, excluded: &[Value]) -> SearchAnswer {
        let declared =
            (self.policy == CompatPolicy::Lenient).then(|| Rc::new(Declared::of(self.arena, &self.declaring)));
        let state = State { lits: Rc::new(lits), excluded: Rc::new(excluded.to_vec()), declared };
        let mut answer = SearchAnswer::No;
        for kind in Type::ALL {
            match self.solve_type(&state, kind) {
                SearchAnswer::No => {}
                SearchAnswer::Maybe(None) => answer = SearchAnswer::Maybe(None),
                found => return found,
            }
        }
        answer
    }

    /// A document that was built counts once it has been evaluated.
    fn accept(&mut self, state: &State, document: Option<Value>) -> SearchAnswer {
        let fits = |document: &Value| self.fits(state, document) == Some(true);
        SearchAnswer::Maybe(document.filter(fits))
    }

    fn fits(&mut self, state: &State, document: &Value) -> Option<bool> {
        if state.excluded.iter().any(|other| same(other, document)) {
            return Some(false);
        }
        let exempt = match self.policy {
            CompatPolicy::Strict => HashSet::new(),
            CompatPolicy::Lenient => undeclared(self.arena, document, &Rc::clone(&self.declaring)),
        };
        let mut all = Some(true);
        for lit in state.lits.iter() {
            let mut evaluator = Evaluator::new(self.arena, &exempt);
            let valid = evaluator.is_valid(document, lit.node);
            self.meter.take(2 + evaluator.cost());
            match valid {
                Some(valid) if valid != (lit.sign == Polarity::Holds) => return Some(false),
                Some(_) => {}
                None => all = None,
            }
        }
        all
    }

    /// One of these values, all of which are known.
    fn try_values(&mut self, state: &State, kind: Type, values: &[Value]) -> SearchAnswer {
        let mut answer = SearchAnswer::No;
        for value in values.iter().filter(|value| Type::of(value) == kind) {
            if !self.meter.take(1) {
                return SearchAnswer::Maybe(None);
            }
            match self.fits(state, value) {
                Some(true) => return SearchAnswer::Maybe(Some(value.clone())),
                Some(false) => {}
                None => answer = SearchAnswer::Maybe(None),
            }
        }
        answer
    }

    /// A node with one keyword, for what a schema does not say but the search needs.
    fn made(&mut self, keyword: Keyword) -> NodeId {
        self.arena.make(Side::Old, "", vec![Clause { keyword, name: "" }])
    }
}
