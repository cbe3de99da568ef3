//! Pairs of schemas over all keywords, each with its verdict in both directions under both policies, and why. They are in
//! `pairs.json`; `lenient` is left out where it is the same as `strict`.

use prom_schema::compat::{CompatRule, check_mode};
use prom_schema::{Compat, CompatPolicy};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    why: String,
    old: Value,
    new: Value,
    strict: Verdicts,
    lenient: Option<Verdicts>,
}

#[derive(Deserialize)]
struct Verdicts {
    backward: Verdict,
    forward: Verdict,
}

#[derive(Deserialize, Debug, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    No,
}

#[test]
fn every_pair_has_its_verdict_in_both_directions_under_both_policies() {
    let pairs: Vec<Pair> = serde_json::from_str(include_str!("pairs.json")).unwrap();
    assert!(pairs.len() >= 170, "{}", pairs.len());
    let mut wrong = Vec::new();
    for pair in &pairs {
        let lenient = pair.lenient.as_ref().unwrap_or(&pair.strict);
        for (policy, verdicts) in [(CompatPolicy::Strict, &pair.strict), (CompatPolicy::Lenient, lenient)] {
            for (compat, expected) in [(Compat::Backward, verdicts.backward), (Compat::Forward, verdicts.forward)] {
                let settings = crate::settings(policy);
                let found = check_mode(compat, &[(1, &pair.old)], &pair.new, &settings).unwrap();
                let verdict = if found.is_empty() { Verdict::Ok } else { Verdict::No };
                let is_shown = found.iter().all(|found| found.rule != CompatRule::Undecided && found.example.is_some());
                if verdict != expected || !is_shown {
                    wrong.push(format!(
                        "{}: {policy:?} {compat} is {verdict:?}, not {expected:?}: {found:#?}",
                        pair.why
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
