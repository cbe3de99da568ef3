//! Pairs of patterns: whether the first covers the second, and whether they have a name in common.

use prom_auth::{Action, Effect, Policy, Rule};
use prom_types::TopicPattern;
use serde_json::{Value, json};

const PATTERNS: [&str; 31] = [
    "a",
    "a.b",
    "*",
    "**",
    "*.*",
    "*.**",
    "**.*",
    "*.*.**",
    "a.*",
    "a.**",
    "a.*.**",
    "*.a",
    "**.a",
    "*.**.a",
    "a.**.b",
    "a.*.b",
    "a.*.**.b",
    "a.**.b.**",
    "**.b.**",
    "**.a.**.b",
    "a.**.b.**.b",
    "a.**.b.b.**",
    "orders.v1",
    "*.v1",
    "**.v1",
    "dlq",
    "dlq.**",
    "dlq.a",
    "**.dlq",
    "**.dlq.a",
    "system.*",
];

/// Rows `[pattern, asked, whether pattern matches everything that asked matches]`.
pub fn covers() -> Vec<Value> {
    pairs(|pattern, asked| ask(vec![rule(Effect::Allow, pattern)], asked))
}

/// Rows `[pattern, asked, whether both match some name]`.
pub fn overlaps() -> Vec<Value> {
    pairs(|pattern, asked| !ask(vec![rule(Effect::Allow, asked), rule(Effect::Deny, pattern)], asked))
}

fn ask(rules: Vec<Rule>, asked: &TopicPattern) -> bool {
    let policy = Policy::from_rules(rules).expect("a valid policy");
    policy.allows_pattern(Action::Subscribe, asked, None)
}

fn rule(effect: Effect, pattern: &TopicPattern) -> Rule {
    Rule { effect, action: Action::Subscribe.into(), topics: vec![pattern.clone()], groups: None }
}

fn pairs(answer: impl Fn(&TopicPattern, &TopicPattern) -> bool) -> Vec<Value> {
    let patterns: Vec<TopicPattern> =
        PATTERNS.iter().map(|pattern| TopicPattern::parse(pattern).expect("a pattern")).collect();
    let all = patterns.iter().flat_map(|pattern| patterns.iter().map(move |asked| (pattern, asked)));
    all.map(|(pattern, asked)| json!([pattern, asked, answer(pattern, asked)])).collect()
}
