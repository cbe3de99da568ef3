//! Random schemas against random documents: what is called compatible, no document refutes, and every example is one.
//!
//! `PROM_SCHEMA_PAIRS` is the number of pairs (1 500), `PROM_SCHEMA_SEED` repeats one.

use std::time::Duration;

use prom_schema::CompatPolicy;
use prom_schema::compat::{Budget, CompatRule, Settings, check};
use serde_json::{Value, json};

use crate::random_schema::{Random, document, mutate, schema, shrink};
use crate::undeclared::has_undeclared;

const DOCUMENTS: usize = 150;

fn settings(policy: CompatPolicy) -> Settings {
    // Steps decide, so that a seed means the same on every machine.
    Settings { policy, budget: Budget { time: Duration::from_secs(20), steps: 20_000 }, ..Settings::default() }
}

fn validator(schema: &Value) -> Option<jsonschema::Validator> {
    jsonschema::validator_for(schema).ok()
}

/// A document that refutes "compatible".
fn refuted(old: &Value, new: &Value, policy: CompatPolicy, random: &mut Random) -> Option<Value> {
    let (accepts_old, accepts_new) = (validator(old)?, validator(new)?);
    let violations = check(old, new, &settings(policy)).ok()?;
    if !violations.is_empty() {
        return None;
    }
    let mut documents: Vec<Value> = (0..DOCUMENTS).map(|_| document(random, &[old, new], 0)).collect();
    documents.retain(|document| accepts_old.is_valid(document) && !accepts_new.is_valid(document));
    documents.retain(|document| policy == CompatPolicy::Strict || !has_undeclared(old, document));
    documents.into_iter().next()
}

#[derive(Debug, Default)]
struct Tally {
    compatible: usize,
    incompatible: usize,
    undecided: usize,
    unreadable: usize,
}

/// Whether the examples are what they claim to be.
fn count(old: &Value, new: &Value, policy: CompatPolicy, tally: &mut Tally) {
    let violations = match check(old, new, &settings(policy)) {
        Ok(violations) => violations,
        Err(_) => {
            tally.unreadable += 1;
            return;
        }
    };
    for violation in violations.iter().filter(|violation| violation.rule != CompatRule::Undecided) {
        if let (Some(example), Some(accepts_old), Some(accepts_new)) =
            (&violation.example, validator(old), validator(new))
        {
            assert!(accepts_old.is_valid(example), "{example} is not valid under {old}");
            assert!(!accepts_new.is_valid(example), "{example} is valid under {new}");
        }
    }
    if violations.is_empty() {
        tally.compatible += 1;
    } else if violations.iter().all(|violation| violation.rule == CompatRule::Undecided) {
        tally.undecided += 1;
    } else {
        tally.incompatible += 1;
    }
}

fn one(seed: u64, tally: &mut Tally) {
    let mut random = Random::new(seed);
    let old = schema(&mut random, 0);
    let new = match random.below(8) {
        0 => schema(&mut random, 0),
        _ => mutate(&mut random, &old),
    };
    for policy in [CompatPolicy::Strict, CompatPolicy::Lenient] {
        for (old, new) in [(&old, &new), (&new, &old)] {
            count(old, new, policy, tally);
            if refuted(old, new, policy, &mut random).is_some() {
                let still = |old: &Value, new: &Value| refuted(old, new, policy, &mut Random::new(seed));
                let (old, new) = shrink(old, new, |old, new| still(old, new).is_some());
                let document = still(&old, &new).unwrap_or(json!("not again"));
                panic!("PROM_SCHEMA_SEED={seed} {policy:?}: called compatible\nold {old}\nnew {new}\nbut {document}");
            }
        }
    }
}

#[test]
fn no_document_refutes_what_is_called_compatible() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let mut tally = Tally::default();
    if let Some(seed) = number("PROM_SCHEMA_SEED") {
        one(seed, &mut tally);
        return;
    }
    let pairs = number("PROM_SCHEMA_PAIRS").unwrap_or(1_500);
    let first = number("PROM_SCHEMA_FIRST").unwrap_or(1);
    for seed in first..first + pairs {
        one(seed, &mut tally);
    }
    println!("{tally:?}");
    let checks = 4 * pairs as usize;
    // A test in which nothing is compatible, or nothing is not, tests nothing.
    assert!(tally.compatible * 10 > checks && tally.incompatible * 10 > checks, "{tally:?}");
    assert!(tally.undecided * 20 < checks, "{tally:?}");
}
