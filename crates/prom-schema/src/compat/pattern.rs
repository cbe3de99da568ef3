//! Regular expressions as sets of strings: whether a string exists that some patterns match and others do not.
//!
//! A pattern is translated as the validator does it, compiled into an automaton over UTF-8, and automata are searched
//! side by side. Look-around, back references and patterns that are too large have no automaton: the search goes on
//! without them, which finds more strings, never fewer.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Dot, Hir, Repetition};

use super::meter::Meter;
use crate::limits::{AUTOMATA_BYTES, PATTERN_AUTOMATON_BYTES, WITNESS_CHARACTERS};

pub(super) type PatternId = u32;

/// All patterns of a comparison, once each.
pub(super) struct Patterns {
    ids: HashMap<String, PatternId>,
    texts: Vec<String>,
    /// Built when first needed; `None` inside where there is no automaton.
    automata: Vec<Option<Option<Rc<Machine>>>>,
    any: Option<Rc<Machine>>,
    /// Memory that further automata may take while they are built. It stands for time, which no meter sees there.
    bytes_left: usize,
}

struct Machine {
    dfa: dense::DFA<Vec<u32>>,
    start: StateID,
    /// Bytes of one class lead to the same states.
    classes: [u8; 256],
}

/// What a string must be.
#[derive(Debug, Default, Clone)]
pub(super) struct Wanted {
    pub matched: Vec<PatternId>,
    pub unmatched: Vec<PatternId>,
    /// In code points.
    pub min: u64,
    pub max: Option<u64>,
    pub excluded: HashSet<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum FoundString {
    /// Patterns without automaton have not been asked.
    Some(String),
    /// There is none, whatever the patterns without automaton match.
    None,
    /// The budget is spent, or it would be too long.
    Unknown,
}

impl Default for Patterns {
    fn default() -> Self {
        Self { ids: HashMap::new(), texts: Vec::new(), automata: Vec::new(), any: None, bytes_left: AUTOMATA_BYTES }
    }
}

impl Patterns {
    pub fn intern(&mut self, text: &str) -> PatternId {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = self.texts.len() as PatternId;
        self.ids.insert(text.to_owned(), id);
        self.texts.push(text.to_owned());
        self.automata.push(None);
        id
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    pub fn text(&self, id: PatternId) -> &str {
        &self.texts[id as usize]
    }

    /// `None` where the pattern has no automaton.
    pub fn matches(&mut self, id: PatternId, text: &str) -> Option<bool> {
        Some(self.machine(id)?.accepts(text.as_bytes()))
    }

    pub fn find(&mut self, wanted: &Wanted, meter: &mut Meter) -> FoundString {
        if wanted.max.is_some_and(|max| max < wanted.min) {
            return FoundString::None;
        }
        if wanted.matched.iter().any(|id| wanted.unmatched.contains(id)) {
            return FoundString::None;
        }
        if wanted.min > WITNESS_CHARACTERS {
            return FoundString::Unknown;
        }
        let matched: Vec<_> = wanted.matched.iter().filter_map(|id| self.machine(*id)).collect();
        let unmatched: Vec<_> = wanted.unmatched.iter().filter_map(|id| self.machine(*id)).collect();
        let Some(any) = self.any() else { return FoundString::Unknown };
        let machines: Vec<(Rc<Machine>, bool)> = [any]
            .into_iter()
            .chain(matched)
            .map(|machine| (machine, true))
            .chain(unmatched.into_iter().map(|machine| (machine, false)))
            .collect();
        Product::new(&machines, wanted).search(meter)
    }

    fn machine(&mut self, id: PatternId) -> Option<Rc<Machine>> {
        if let Some(known) = &self.automata[id as usize] {
            return known.clone();
        }
        if self.bytes_left == 0 {
            return None;
        }
        let machine = match Machine::build(&self.texts[id as usize]) {
            Ok(machine) => {
                self.bytes_left = self.bytes_left.saturating_sub(machine.dfa.memory_usage());
                Some(Rc::new(machine))
            }
            Err(NoMachine::TooLarge) => {
                self.bytes_left = self.bytes_left.saturating_sub(PATTERN_AUTOMATON_BYTES);
                None
            }
            Err(NoMachine::NotRegular) => None,
        };
        self.automata[id as usize] = Some(machine.clone());
        machine
    }

    fn any(&mut self) -> Option<Rc<Machine>> {
        if self.any.is_none() {
            self.any = Machine::build("").ok().map(Rc::new);
        }
        self.any.clone()
    }
}

/// Why a pattern has no automaton.
enum NoMachine {
    /// Look-around, a back reference, or no expression at all.
    NotRegular,
    TooLarge,
}

impl Machine {
    fn build(pattern: &str) -> Result<Self, NoMachine> {
        let translated = jsonschema_regex::to_rust_regex(pattern).map_err(|_| NoMachine::NotRegular)?;
        let hir = regex_syntax::parse(&translated).map_err(|_| NoMachine::NotRegular)?;
        let anything = || {
            let any = Box::new(Hir::dot(Dot::AnyChar));
            Hir::repetition(Repetition { min: 0, max: None, greedy: true, sub: any })
        };
        // A pattern matches anywhere in the string unless it has anchors.
        let whole = Hir::concat(vec![anything(), hir, anything()]);
        let config = thompson::Config::new().nfa_size_limit(Some(PATTERN_AUTOMATON_BYTES));
        let nfa =
            thompson::Compiler::new().configure(config).build_from_hir(&whole).map_err(|_| NoMachine::TooLarge)?;
        let config = dense::Config::new()
            .match_kind(MatchKind::All)
            .start_kind(StartKind::Anchored)
            .accelerate(false)
            .dfa_size_limit(Some(PATTERN_AUTOMATON_BYTES))
            .determinize_size_limit(Some(PATTERN_AUTOMATON_BYTES));
        let dfa = dense::Builder::new().configure(config).build_from_nfa(&nfa).map_err(|_| NoMachine::TooLarge)?;
        let start = Input::new("").anchored(Anchored::Yes);
        let start = dfa.start_state_forward(&start).map_err(|_| NoMachine::NotRegular)?;
        let mut classes = [0; 256];
        for byte in 0..=255u8 {
            classes[usize::from(byte)] = nfa.byte_classes().get(byte);
        }
        Ok(Self { dfa, start, classes })
    }

    fn accepts(&self, bytes: &[u8]) -> bool {
        let end = bytes.iter().fold(self.start, |state, byte| self.dfa.next_state(state, *byte));
        self.is_end(end)
    }

    fn is_end(&self, state: StateID) -> bool {
        self.dfa.is_match_state(self.dfa.next_eoi_state(state))
    }
}

/// Automata side by side, with the length so far and the excluded strings that still agree.
struct Product<'a> {
    machines: &'a [(Rc<Machine>, bool)],
    wanted: &'a Wanted,
    bytes: Vec<u8>,
    /// Excluded strings as a tree; a node's children, and whether a string ends there.
    excluded: Vec<(HashMap<u8, usize>, bool)>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Position {
    states: Vec<StateID>,
    length: u64,
    excluded: Option<usize>,
}

impl<'a> Product<'a> {
    fn new(machines: &'a [(Rc<Machine>, bool)], wanted: &'a Wanted) -> Self {
        let mut excluded: Vec<(HashMap<u8, usize>, bool)> = vec![(HashMap::new(), false)];
        let mut told_apart = HashSet::new();
        for text in &wanted.excluded {
            let mut at = 0;
            for byte in text.bytes() {
                told_apart.insert(byte);
                let next = excluded.len();
                let child = *excluded[at].0.entry(byte).or_insert(next);
                if child == next {
                    excluded.push((HashMap::new(), false));
                }
                at = child;
            }
            excluded[at].1 = true;
        }
        let mut seen = HashSet::new();
        // Letters first: examples are read by people.
        let order = (b'a'..=b'z').chain(b'0'..=b'9').chain(b'A'..=b'Z').chain(b' '..=b'~').chain(0..=255);
        let is_new = |byte: &u8| {
            let classes: Vec<u8> = machines.iter().map(|(machine, _)| machine.classes[usize::from(*byte)]).collect();
            let own = told_apart.contains(byte).then_some(*byte);
            seen.insert((classes, byte & 0xC0 == 0x80, own))
        };
        Self { machines, wanted, bytes: order.filter(is_new).collect(), excluded }
    }

    fn search(&self, meter: &mut Meter) -> FoundString {
        let states = self.machines.iter().map(|(machine, _)| machine.start).collect();
        let start = Position { states, length: 0, excluded: Some(0) };
        let mut seen = HashSet::from([start.clone()]);
        let mut reached: Vec<(Position, usize, u8)> = vec![(start, 0, 0)];
        let mut at = 0;
        while at < reached.len() {
            let position = reached[at].0.clone();
            if self.is_end(&position) {
                return spell(&reached, at);
            }
            if !meter.take(1 + self.bytes.len() as u64 / 8) {
                return FoundString::Unknown;
            }
            for byte in &self.bytes {
                if let Some(next) = self.step(&position, *byte)
                    && seen.insert(next.clone())
                {
                    reached.push((next, at, *byte));
                }
            }
            at += 1;
        }
        FoundString::None
    }

    fn step(&self, position: &Position, byte: u8) -> Option<Position> {
        let mut states = Vec::with_capacity(position.states.len());
        for ((machine, must_match), state) in self.machines.iter().zip(&position.states) {
            let next = machine.dfa.next_state(*state, byte);
            if *must_match && machine.dfa.is_dead_state(next) {
                return None;
            }
            states.push(next);
        }
        let mut length = position.length + u64::from(byte & 0xC0 != 0x80);
        match self.wanted.max {
            Some(max) if length > max => return None,
            Some(_) => {}
            // Without an upper limit only the way to the lower one matters.
            None => length = length.min(self.wanted.min),
        }
        let excluded = position.excluded.and_then(|at| self.excluded[at].0.get(&byte).copied());
        Some(Position { states, length, excluded })
    }

    fn is_end(&self, position: &Position) -> bool {
        position.length >= self.wanted.min
            && position.excluded.is_none_or(|at| !self.excluded[at].1)
            && self
                .machines
                .iter()
                .zip(&position.states)
                .all(|((machine, must_match), state)| machine.is_end(*state) == *must_match)
    }
}

fn spell(reached: &[(Position, usize, u8)], end: usize) -> FoundString {
    let mut bytes = Vec::new();
    let mut at = end;
    while at != 0 {
        bytes.push(reached[at].2);
        at = reached[at].1;
    }
    bytes.reverse();
    String::from_utf8(bytes).map_or(FoundString::Unknown, FoundString::Some)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::meter;
    use super::*;

    fn meter() -> Meter {
        Meter::new(meter::until(Duration::from_secs(20)), 10_000_000)
    }

    fn find(matched: &[&str], unmatched: &[&str], min: u64, max: Option<u64>, excluded: &[&str]) -> FoundString {
        let mut patterns = Patterns::default();
        let matched = matched.iter().map(|text| patterns.intern(text)).collect();
        let unmatched = unmatched.iter().map(|text| patterns.intern(text)).collect();
        let excluded = excluded.iter().map(|text| (*text).to_owned()).collect();
        patterns.find(&Wanted { matched, unmatched, min, max, excluded }, &mut meter())
    }

    #[test]
    fn inclusion_is_decided_by_the_strings_and_not_by_the_text() {
        let date = "^\\d{4}-\\d{2}-\\d{2}$";
        let uuid = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
        assert_eq!(find(&[date, uuid], &[], 0, None, &[]), FoundString::None);
        assert!(matches!(find(&[uuid], &[date], 0, None, &[]), FoundString::Some(_)));
        assert_eq!(find(&["^ab+$"], &["^a(b)(b)*$"], 0, None, &[]), FoundString::None);
        assert_eq!(find(&["^ab$"], &["b"], 0, None, &[]), FoundString::None);
        assert_eq!(find(&["b"], &["^ab$"], 0, None, &[]), FoundString::Some("b".into()));
        assert_eq!(find(&["^[ab]$"], &[], 0, None, &["a", "b"]), FoundString::None);
        assert_eq!(find(&["^[ab]$"], &[], 0, None, &["a"]), FoundString::Some("b".into()));
        assert_eq!(find(&["^a*$"], &[], 3, Some(3), &[]), FoundString::Some("aaa".into()));
        assert_eq!(find(&["^a*$"], &[], 3, Some(3), &["aaa"]), FoundString::None);
        assert_eq!(find(&[], &["^.*$", "\\n"], 0, None, &[]), FoundString::None);
        assert_eq!(find(&["^\\d$"], &["^[0-9]$"], 0, None, &[]), FoundString::None);
    }

    #[test]
    fn length_counts_code_points() {
        assert!(
            matches!(find(&["^[\u{1F600}\u{e4}]+$"], &[], 2, Some(2), &[]), FoundString::Some(text) if text.chars().count() == 2)
        );
    }

    #[test]
    fn a_bomb_has_no_automaton_and_ends() {
        assert!(Machine::build("(((a{100}){100}){100}){100}").is_err());
        assert!(Machine::build("^(?=a)b").is_err());
        assert!(Machine::build("(.*a){30}.{25}b.*(a|b)*c{1,200}").is_err());
        assert!(Machine::build("^[a-z]{1,64}@[a-z]{1,63}\\.com$").is_ok());
    }
}
