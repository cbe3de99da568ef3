//! The comparison of two schemas, and of a new version with earlier ones.

use std::ops::Range;
use std::time::Instant;

use serde_json::Value;

use super::error::CompareError;
use super::explain::Explainer;
use super::generate::Generator;
use super::meter::{Meter, until};
use super::mode::{Demand, VersionReach};
use super::node::{NodeId, Side};
use super::oracle::{Oracle, Shown};
use super::read::Arena;
use super::rule::CompatRule;
use super::search::{Lit, Search, SearchAnswer};
use super::settings::{Budget, Settings, Undecided};
use super::violation::{Direction, Violation};
use crate::Compat;
use crate::limits::{EXAMPLE_BYTES, MODE_COMPARISONS, MODE_TIME, PROOF_SHARE, STACK_BYTES, VIOLATIONS};

/// Is every document that is valid under `old` valid under `new`? Nothing is returned if so, and otherwise what stands
/// against it.
///
/// It runs on a thread of its own and holds up its caller for as long as the budget of the settings.
pub fn check(old: &Value, new: &Value, settings: &Settings) -> Result<Vec<Violation>, CompareError> {
    Ok(on_own_stack(old, new, settings)?.violations)
}

/// Whether a new version keeps to `compat`, given the earlier ones with their numbers, oldest first.
pub fn check_mode(
    compat: Compat,
    earlier: &[(u64, &Value)],
    new: &Value,
    settings: &Settings,
) -> Result<Vec<Violation>, CompareError> {
    let mut check = ModeCheck::new(compat, *settings);
    for (version, old) in earlier[check.reach(earlier.len())].iter().rev() {
        if check.is_over() {
            break;
        }
        check.compare(*version, old, new)?;
    }
    Ok(check.into_violations())
}

/// A new version held against the earlier ones, one at a time, newest first: then nobody has to hold all of them at once.
/// All comparisons together have a budget, beyond which it says `undecided` and names the version.
#[derive(Debug)]
pub struct ModeCheck {
    demand: Demand,
    settings: Settings,
    steps_left: u64,
    until: Instant,
    violations: Vec<Violation>,
    is_spent: bool,
}

impl ModeCheck {
    /// Nothing is compared yet.
    pub fn new(compat: Compat, settings: Settings) -> Self {
        Self {
            demand: compat.demand(),
            settings,
            steps_left: settings.budget.steps.saturating_mul(MODE_COMPARISONS),
            until: until(MODE_TIME),
            violations: Vec::new(),
            is_spent: false,
        }
    }

    /// Which of so many earlier versions it is held against, counted from the oldest.
    pub fn reach(&self, earlier: usize) -> Range<usize> {
        match (self.demand.backward || self.demand.forward, self.demand.reach) {
            (false, _) => earlier..earlier,
            (true, VersionReach::Last) => earlier.saturating_sub(1)..earlier,
            (true, VersionReach::All) => 0..earlier,
        }
    }

    /// There is no use in comparing with more: the budget is spent, or more would not be read.
    pub fn is_over(&self) -> bool {
        self.is_spent || self.violations.len() >= VIOLATIONS
    }

    /// Holds the new version against one earlier version.
    pub fn compare(&mut self, version: u64, old: &Value, new: &Value) -> Result<(), CompareError> {
        let mut directions = Vec::with_capacity(2);
        directions.extend(self.demand.backward.then_some((Direction::Backward, old, new)));
        directions.extend(self.demand.forward.then_some((Direction::Forward, new, old)));
        for (direction, old, new) in directions {
            let Some(settings) = self.left().filter(|_| !self.is_spent) else {
                self.give_up(version, direction);
                return Ok(());
            };
            let compared = on_own_stack(old, new, &settings)?;
            self.steps_left = self.steps_left.saturating_sub(compared.steps);
            let told = |found: Violation| Violation { against_version: Some(version), ..found };
            let told = compared.violations.into_iter().map(told);
            match direction {
                Direction::Backward => self.violations.extend(told),
                Direction::Forward => self.violations.extend(told.map(seen_from_before)),
            }
        }
        self.violations.truncate(VIOLATIONS);
        Ok(())
    }

    /// What stands against the new version.
    pub fn into_violations(self) -> Vec<Violation> {
        self.violations
    }

    /// What the next comparison may spend; `None` if that is nothing. The last one may exceed what is left of the whole.
    fn left(&self) -> Option<Settings> {
        let Budget { steps, time } = self.settings.budget;
        let time = time.min(self.until.saturating_duration_since(Instant::now()));
        let has_some = self.steps_left > 0 && !time.is_zero();
        has_some.then_some(Settings { budget: Budget { steps, time }, ..self.settings })
    }

    fn give_up(&mut self, version: u64, direction: Direction) {
        self.is_spent = true;
        if self.settings.undecided == Undecided::Refuse {
            let message = format!(
                "version {version} and those before it were not compared: the comparisons with later versions took all \
                 that one check may take"
            );
            let against_version = Some(version);
            self.violations.push(Violation { message, direction, against_version, ..whole(None) });
        }
    }
}

/// A violation that was found with the schemas exchanged, in the words of one who changes the new schema.
fn seen_from_before(found: Violation) -> Violation {
    let version = found.against_version.unwrap_or_default();
    let title = format!("Version {version} refuses what the new schema accepts");
    let message = match found.message.strip_prefix(found.rule.text().title) {
        Some(demand) if found.rule != CompatRule::Undecided => format!("{title}{demand}"),
        _ => found.message,
    };
    let fix = match found.rule {
        CompatRule::Undecided => found.fix,
        _ => format!(
            "let the new schema refuse it too; or publish to a new topic, and let readers that know version {version} follow its \
             own topic by dual write"
        ),
    };
    Violation { direction: Direction::Forward, message, fix, ..found }
}

/// What one comparison found, and what it took.
struct Compared {
    violations: Vec<Violation>,
    steps: u64,
}

fn on_own_stack(old: &Value, new: &Value, settings: &Settings) -> Result<Compared, CompareError> {
    let compared = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("schema-check".into()).stack_size(STACK_BYTES);
        let running = thread.spawn_scoped(scope, || compare(old, new, settings)).ok()?;
        running.join().ok()
    });
    compared.unwrap_or(Err(CompareError::NotCompared))
}

fn compare(old: &Value, new: &Value, settings: &Settings) -> Result<Compared, CompareError> {
    let meter = Meter::new(until(settings.budget.time), settings.budget.steps);
    let mut arena = Arena::new();
    let old_root = arena.read(old, Side::Old, settings.formats)?;
    let new_root = arena.read(new, Side::New, settings.formats)?;
    arena.settle();
    let mut comparison = Comparison { arena, meter, old: old_root.node, new: new_root.node, settings };
    // What reading takes, so that it counts where many versions are compared.
    comparison.meter.take(comparison.arena.nodes.len() as u64 / NODES_PER_STEP);
    if comparison.arena.node(old_root.node).class == comparison.arena.node(new_root.node).class {
        return Ok(Compared { violations: Vec::new(), steps: comparison.meter.spent() });
    }
    let proof = comparison.prove();
    comparison.meter.allow(EXPLAIN_SHARE);
    let schemas = [(old, old_root), (new, new_root)];
    let oracle = Oracle::new(&comparison.arena, schemas, settings.policy, settings.formats, &mut comparison.meter);
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
    Ok(Compared { violations, steps: comparison.meter.spent() })
}

/// Subschemas that are read in the time of one step.
const NODES_PER_STEP: u64 = 4;

struct Comparison<'s> {
    arena: Arena,
    meter: Meter,
    old: NodeId,
    new: NodeId,
    settings: &'s Settings,
}

impl Comparison<'_> {
    fn prove(&mut self) -> SearchAnswer {
        self.meter.allow(PROOF_SHARE);
        let mut search = Search::new(&mut self.arena, &mut self.meter, self.settings.policy);
        search.solve(&[Lit::holds(self.old), Lit::fails(self.new)])
    }

    fn explain(&mut self, oracle: &Oracle, example: Option<Value>) -> Vec<Violation> {
        let mut search = Search::new(&mut self.arena, &mut self.meter, self.settings.policy);
        let mut explainer = Explainer::new(&mut search, oracle, self.old, self.new);
        let complete = explainer.run();
        let mut violations = explainer.violations;
        if !violations.is_empty() || (complete && example.is_none()) {
            return violations;
        }
        let Self { arena, meter, old, new, .. } = self;
        let shows = |document: &Value| oracle.try_out(arena, meter, document, *old, *new) == Shown::Incompatible;
        violations.push(whole(example.filter(shows)));
        violations
    }

    /// Tries documents out on both schemas.
    fn try_documents(&mut self, oracle: &Oracle, violations: &mut Vec<Violation>) {
        self.meter.allow(1.0);
        let Self { arena, meter, old, new, .. } = self;
        let documents = Generator { arena: &mut *arena, meter: &mut *meter }.documents(&[*old, *new]);
        for document in documents {
            if !meter.take(STEPS_PER_DOCUMENT) {
                return;
            }
            if oracle.try_out(arena, meter, &document, *old, *new) == Shown::Incompatible {
                violations.clear();
                violations.push(whole(Some(document)));
                return;
            }
        }
    }
}

/// Steps by the end of explaining, as a share of the budget; the rest is for trying documents out.
const EXPLAIN_SHARE: f64 = 0.9;
/// What the validators take for one document.
const STEPS_PER_DOCUMENT: u64 = 20;

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
