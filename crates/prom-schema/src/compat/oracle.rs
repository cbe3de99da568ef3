//! Tries documents out on both schemas: by our own evaluation, and by the `jsonschema` crate.

use std::collections::{HashMap, HashSet};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::declared::undeclared;
use super::evaluate::Evaluator;
use super::meter::Meter;
use super::node::NodeId;
use super::read::{Arena, Root};
use super::settings::{CompatPolicy, Formats};
use crate::draft::Draft;
use crate::limits::{PATTERN_PROGRAM_BYTES, SCHEMA_CHAIN, VALIDATOR_BACKTRACKS, VALIDATOR_NODES};
use crate::multiple;

/// A validator of so many subschemas is built in the time of one step.
const NODES_PER_STEP: u64 = 4;
/// What compiling a pattern for it takes.
const STEPS_PER_PATTERN: u64 = 100;

/// What a document shows about two schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// It is valid under the old schema and invalid under the new one.
    Incompatible,
    /// It is invalid under the old one, or valid under both.
    Nothing,
    /// It could not be said.
    Unclear,
}

pub(super) struct Oracle {
    policy: CompatPolicy,
    old: Option<Validator>,
    new: Option<Validator>,
}

impl Oracle {
    /// Without validators where the schema is too large for them, or there is no budget left to build them.
    pub fn new(
        arena: &Arena,
        schemas: [(&Value, Root); 2],
        policy: CompatPolicy,
        formats: Formats,
        meter: &mut Meter,
    ) -> Self {
        let patterns = arena.patterns.len() as u64 * STEPS_PER_PATTERN;
        let [old, new] = schemas.map(|(schema, root)| {
            let weight = Weigher { arena, known: HashMap::new() }.weigh(root.node, 0);
            if weight <= VALIDATOR_NODES && meter.take(weight / NODES_PER_STEP + patterns) {
                validator(schema, root.draft, formats)
            } else {
                None
            }
        });
        Self { policy, old, new }
    }

    pub fn try_out(&self, arena: &mut Arena, meter: &mut Meter, document: &Value, old: NodeId, new: NodeId) -> Shown {
        let exempt = match self.policy {
            CompatPolicy::Strict => HashSet::new(),
            CompatPolicy::Lenient => undeclared(arena, document, &[old]),
        };
        let none = HashSet::new();
        let mut evaluator = Evaluator::new(arena, &none);
        let by_old = evaluator.is_valid(document, old);
        // Twice: the validator takes about as long.
        meter.take(1 + 2 * evaluator.cost());
        if by_old == Some(false) || evaluator.is_spent() {
            return if by_old == Some(false) { Shown::Nothing } else { Shown::Unclear };
        }
        let mut evaluator = Evaluator::new(arena, &exempt);
        let by_new = evaluator.is_valid(document, new);
        meter.take(1 + 2 * evaluator.cost());
        if evaluator.is_spent() {
            return Shown::Unclear;
        }
        let validated = match (&self.old, &self.new) {
            (Some(old), Some(new)) => Some((old.is_valid(document), new.is_valid(document))),
            _ => None,
        };
        match (by_old, by_new, validated) {
            (Some(true), Some(false), Some((true, false)) | None) => Shown::Incompatible,
            // Where the evaluations differ, the validator that judges events decides. It knows no exemptions.
            (_, _, Some((true, false))) if exempt.is_empty() => Shown::Incompatible,
            (Some(true), Some(true), _) | (_, _, Some((false, _) | (_, true))) => Shown::Nothing,
            _ => Shown::Unclear,
        }
    }
}

fn validator(schema: &Value, draft: Draft, formats: Formats) -> Option<Validator> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(VALIDATOR_BACKTRACKS)
        .size_limit(PATTERN_PROGRAM_BYTES)
        .dfa_size_limit(PATTERN_PROGRAM_BYTES);
    let options = jsonschema::options()
        .with_draft(draft.for_validator())
        .should_validate_formats(formats == Formats::Assert)
        .should_ignore_unknown_formats(true)
        // In draft 7 the validator asserts these; here they are remarks.
        .without_content_media_type_support("application/json")
        .without_content_encoding_support("base64")
        .with_keyword(multiple::NAME, multiple::compile)
        .with_pattern_options(patterns);
    options.build(schema).ok()
}

/// Counts the subschemas that a validator would hold, with everything copied to where it is referred to.
struct Weigher<'a> {
    arena: &'a Arena,
    /// Zero while it is being counted: a recursive reference is not copied.
    known: HashMap<NodeId, u64>,
}

impl Weigher<'_> {
    fn weigh(&mut self, node: NodeId, depth: usize) -> u64 {
        if let Some(weight) = self.known.get(&node) {
            return *weight;
        }
        if depth > SCHEMA_CHAIN {
            return u64::MAX;
        }
        self.known.insert(node, 0);
        let mut weight = 1u64;
        for clause in self.arena.clauses(node).iter() {
            for part in clause.keyword.in_place().into_iter().chain(clause.keyword.inner()) {
                weight = weight.saturating_add(self.weigh(part, depth + 1));
            }
        }
        self.known.insert(node, weight);
        weight
    }
}
