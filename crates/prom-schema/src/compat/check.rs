//! The comparison of two schemas, and of a new version with earlier ones.

use std::time::Instant;

use serde_json::Value;

use super::error::CompareError;
use super::explain::Explainer;
use super::generate::Generator;
use super::meter::Meter;
use super::mode::VersionReach;
use super::node::{NodeId, Side};
use super::oracle::{Oracle, Shown};
use super::read::Arena;
use super::rule::CompatRule;
use super::search::{Lit, Search, SearchAnswer};
use super::settings::{Settings, Undecided};
use super::violation::{Direction, Violation};
use crate::Compat;
use crate::limits::{EXAMPLE_BYTES, PROOF_SHARE, STACK_BYTES};

/// Is every document that is valid under `old` valid under `new`? Nothing is returned if so, and otherwise what stands
/// against it.
///
/// It runs on a thread of its own and holds up its caller for as long as the budget of the settings.
pub fn check(old: &Value, new: &Value, settings: &Settings) -> Result<Vec<Violation>, CompareError> {
    let on_own_stack = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("schema-check".into()).stack_size(STACK_BYTES);
        let running = thread.spawn_scoped(scope, || compare(old, new, settings)).ok()?;
        running.join().ok()
    });
    on_own_stack.unwrap_or(Err(CompareError::NotCompared))
}

/// Whether a new version keeps to `compat`, given the earlier ones with their numbers, oldest first.
pub fn check_mode(
    compat: Compat,
    earlier: &[(u64, &Value)],
    new: &Value,
    settings: &Settings,
) -> Result<Vec<Violation>, CompareError> {
    let demand = compat.demand();
    let looked_at = match demand.reach {
        VersionReach::Last => &earlier[earlier.len().saturating_sub(1)..],
        VersionReach::All => earlier,
    };
    let mut violations = Vec::new();
    for (version, old) in looked_at.iter().rev() {
        let mut found = Vec::new();
        if demand.backward {
            found.extend(check(old, new, settings)?);
        }
        if demand.forward {
            let forward = check(new, old, settings)?;
            found.extend(forward.into_iter().map(|violation| Violation { direction: Direction::Forward, ..violation }));
        }
        violations.extend(found.into_iter().map(|found| Violation { against_version: Some(*version), ..found }));
    }
    Ok(violations)
}

fn compare(old: &Value, new: &Value, settings: &Settings) -> Result<Vec<Violation>, CompareError> {
    let started = Instant::now();
    let mut arena = Arena::new();
    let old_root = arena.read(old, Side::Old, settings.formats)?;
    let new_root = arena.read(new, Side::New, settings.formats)?;
    arena.settle();
    arena.patterns.build_until(started + settings.budget.time);
    let mut comparison = Comparison { arena, old: old_root.node, new: new_root.node, settings, started };
    if comparison.arena.node(old_root.node).class == comparison.arena.node(new_root.node).class {
        return Ok(Vec::new());
    }
    let proof = comparison.prove();
    let oracle = Oracle::new(
        &comparison.arena,
        [(old, old_root), (new, new_root)],
        settings.policy,
        settings.formats,
        started + settings.budget.time.mul_f64(EXPLAIN_SHARE),
    );
    let mut violations = match proof {
        SearchAnswer::No => Vec::new(),
        SearchAnswer::Maybe(example) => comparison.explain(&oracle, example),
    };
    if violations.iter().all(|violation| violation.rule == CompatRule::Undecided) {
        comparison.try_documents(&oracle, &mut violations);
    }
    if settings.undecided == Undecided::Allow {
        violations.retain(|violation| violation.rule != CompatRule::Undecided);
    }
    Ok(violations)
}

struct Comparison<'s> {
    arena: Arena,
    old: NodeId,
    new: NodeId,
    settings: &'s Settings,
    started: Instant,
}

impl Comparison<'_> {
    fn meter(&self, share: f64) -> Meter {
        let budget = self.settings.budget;
        Meter::new(self.started, budget.time.mul_f64(share), (budget.steps as f64 * share) as u64)
    }

    fn prove(&mut self) -> SearchAnswer {
        let mut meter = self.meter(PROOF_SHARE);
        let mut search = Search::new(&mut self.arena, &mut meter, self.settings.policy);
        search.solve(&[Lit::holds(self.old), Lit::fails(self.new)])
    }

    fn explain(&mut self, oracle: &Oracle, example: Option<Value>) -> Vec<Violation> {
        let mut meter = self.meter(EXPLAIN_SHARE);
        let mut search = Search::new(&mut self.arena, &mut meter, self.settings.policy);
        let mut explainer = Explainer::new(&mut search, oracle, self.old, self.new);
        let complete = explainer.run();
        let mut violations = explainer.violations;
        if !violations.is_empty() || (complete && example.is_none()) {
            return violations;
        }
        let shows =
            |document: &Value| oracle.try_out(&mut self.arena, document, self.old, self.new) == Shown::Incompatible;
        violations.push(whole(example.filter(shows)));
        violations
    }

    /// Tries documents out on both schemas.
    fn try_documents(&mut self, oracle: &Oracle, violations: &mut Vec<Violation>) {
        let mut meter = self.meter(1.0);
        let nodes = [self.old, self.new];
        let documents = Generator { arena: &mut self.arena, meter: &mut meter }.documents(&nodes);
        for document in documents {
            if !meter.take(20) {
                return;
            }
            if oracle.try_out(&mut self.arena, &document, self.old, self.new) == Shown::Incompatible {
                violations.clear();
                violations.push(whole(Some(document)));
                return;
            }
        }
    }
}

/// Time and steps by the end of explaining, as a share of the budget; the rest is for trying documents out.
const EXPLAIN_SHARE: f64 = 0.9;

/// A violation of which only the document is known, or not even that.
fn whole(example: Option<Value>) -> Violation {
    let rule = if example.is_some() { CompatRule::CounterExample } else { CompatRule::Undecided };
    Violation {
        pointer: String::new(),
        old_pointer: Some(String::new()),
        rule,
        message: rule.text().title.to_owned(),
        fix: rule.text().fix.to_owned(),
        direction: Direction::Backward,
        example: example.filter(|example| example.to_string().len() <= EXAMPLE_BYTES),
        against_version: None,
    }
}
