//! Covering and overlapping, checked against the definition by trying names one by one.

use std::sync::LazyLock;

use prom_auth::{Action, Effect, Policy, Rule};
use prom_types::TopicPattern;
use proptest::prelude::*;
use proptest::sample::select;

/// Words that patterns mention, the hub's words, a version, and `z`, which no pattern mentions.
const WORDS: [&str; 6] = ["a", "b", "v1", "dlq", "system", "z"];
const LONGEST_NAME: usize = 5;

static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| names_of(&WORDS, LONGEST_NAME));
/// Two patterns of three segments have a common name of at most six, if any: each segment of it is needed by one.
static FEW_WORDS_NAMES: LazyLock<Vec<String>> = LazyLock::new(|| names_of(&["a", "v1", "dlq", "z"], 6));

fn names_of(words: &[&str], longest: usize) -> Vec<String> {
    let mut last: Vec<String> = words.iter().map(|word| word.to_string()).collect();
    let mut names = last.clone();
    for _ in 1..longest {
        last = last.iter().flat_map(|name| words.iter().map(move |word| format!("{name}.{word}"))).collect();
        names.extend(last.iter().cloned());
    }
    names
}

/// Up to `LONGEST_NAME` segments, few words and many wildcards, so that both answers are common.
fn pattern() -> impl Strategy<Value = TopicPattern> {
    let segment = select(vec!["a", "a", "b", "v1", "dlq", "system", "*", "*", "**", "**", "**"]);
    let segments = proptest::collection::vec(segment, 1..=LONGEST_NAME);
    segments.prop_map(|segments| TopicPattern::parse(&segments.join(".")).unwrap())
}

/// Two patterns: the second is the first, narrowed in places, and sometimes spoiled. Independent patterns hardly ever
/// cover each other.
fn narrowed() -> impl Strategy<Value = (TopicPattern, TopicPattern)> {
    let choices = proptest::collection::vec((0usize..8, 0usize..8), LONGEST_NAME);
    (pattern(), choices, proptest::option::of((0usize..6, select(vec!["a", "*", "**", "dlq"])))).prop_map(
        |(outer, choices, spoilt)| {
            let mut inner: Vec<&str> = Vec::new();
            for (segment, (one, other)) in outer.split('.').zip(choices) {
                match segment {
                    "*" => inner.push(["a", "b", "dlq", "v1", "*", "*", "*", "*"][one]),
                    "**" => inner.extend([
                        ["a", "*", "**", "**", "", "", "", "b"][one],
                        ["a", "*", "**", "", "", "", "", "dlq"][other],
                    ]),
                    word => inner.push(word),
                }
            }
            inner.retain(|segment| !segment.is_empty());
            match spoilt {
                Some((at, segment)) if at < inner.len() => inner[at] = segment,
                Some((_, segment)) => inner.push(segment),
                None if inner.is_empty() => inner.push("**"),
                None => {}
            }
            let inner = TopicPattern::parse(&inner.join(".")).unwrap();
            (outer, inner)
        },
    )
}

fn short() -> impl Strategy<Value = TopicPattern> {
    let segment = select(vec!["a", "a", "v1", "dlq", "*", "**", "**"]);
    let segments = proptest::collection::vec(segment, 1..=3);
    segments.prop_map(|segments| TopicPattern::parse(&segments.join(".")).unwrap())
}

fn rule(effect: Effect, pattern: &TopicPattern) -> Rule {
    Rule { effect, action: Action::Subscribe.into(), topics: vec![pattern.clone()], groups: None }
}

fn covers(outer: &TopicPattern, inner: &TopicPattern) -> bool {
    let policy = Policy::from_rules(vec![rule(Effect::Allow, outer)]).unwrap();
    policy.allows_pattern(Action::Subscribe, inner, None)
}

fn overlaps(one: &TopicPattern, other: &TopicPattern) -> bool {
    let policy = Policy::from_rules(vec![rule(Effect::Deny, one), rule(Effect::Allow, other)]).unwrap();
    !policy.allows_pattern(Action::Subscribe, other, None)
}

/// Names that `pattern` may match with the unmentioned word for every wildcard, each `**` matching up to `most` of them.
fn stretched(pattern: &TopicPattern, most: usize) -> Vec<String> {
    let mut names: Vec<Vec<&str>> = vec![Vec::new()];
    for segment in pattern.split('.') {
        let counts = if segment == "**" { 0..=most } else { 1..=1 };
        let word = if segment.starts_with('*') { "z" } else { segment };
        names = names
            .iter()
            .flat_map(|name| counts.clone().map(move |count| [name.as_slice(), &vec![word; count]].concat()))
            .collect();
    }
    names.into_iter().filter(|name| !name.is_empty()).map(|name| name.join(".")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_pattern_covers_another_exactly_when_no_name_escapes_it(
        (outer, inner) in prop_oneof![(pattern(), pattern()), narrowed()],
    ) {
        let escapes = |name: &&String| inner.matches(name) && !outer.matches(name);
        let open = inner.split('.').filter(|segment| *segment == "**").count();
        // More wildcards in a row than that only repeat each other.
        let most = if open > 5 { 2 } else { outer.split('.').count() + 1 };
        let long_names = stretched(&inner, most);
        let escaped = NAMES.iter().chain(&long_names).find(escapes);
        prop_assert_eq!(covers(&outer, &inner), escaped.is_none(), "escapes: {:?}", escaped);
    }

    #[test]
    fn two_patterns_overlap_exactly_when_a_name_is_matched_by_both(one in short(), other in short()) {
        let common = FEW_WORDS_NAMES.iter().find(|name| one.matches(name) && other.matches(name));
        prop_assert_eq!(overlaps(&one, &other), common.is_some(), "common: {:?}", common);
        prop_assert_eq!(overlaps(&one, &other), overlaps(&other, &one), "the order matters");
    }

    #[test]
    fn every_pattern_covers_itself_and_overlaps_with_what_it_covers((outer, inner) in narrowed()) {
        prop_assert!(covers(&outer, &outer));
        prop_assert!(overlaps(&outer, &outer));
        prop_assert!(!covers(&outer, &inner) || overlaps(&outer, &inner));
    }
}

#[test]
fn a_topic_below_a_hub_word_is_not_matched_by_a_leading_wildcard() {
    let parse = |pattern: &str| TopicPattern::parse(pattern).unwrap();
    // With nothing before it, `**.dlq.a` would name a topic of the hub, which no leading wildcard matches.
    assert!(covers(&parse("*.**.dlq.a"), &parse("**.dlq.a")));
    assert!(!covers(&parse("*.**.dlq"), &parse("**.dlq")), "`dlq` alone is an ordinary name");
    assert!(covers(&parse("*.**"), &parse("**")), "no name is empty");
    assert!(!overlaps(&parse("**"), &parse("dlq.*")));
    assert!(overlaps(&parse("*"), &parse("dlq.**")), "`dlq` alone is matched by both");
    assert!(!overlaps(&parse("**.dlq.a"), &parse("**.dlq.a.b")));
    assert!(overlaps(&parse("**.dlq.**"), &parse("*.**.dlq.a")));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Long and repetitive patterns, which reveal a word matched in the wrong place.
    #[test]
    fn long_repetitive_patterns_are_covered_exactly_when_no_stretched_name_escapes(
        outer in proptest::collection::vec(select(vec!["a", "a", "b", "*", "**"]), 1..=9),
        inner in proptest::collection::vec(select(vec!["a", "a", "b", "*"]), 1..=8),
        open_at in proptest::collection::vec(0usize..8, 0..=3),
    ) {
        let mut inner = inner;
        for at in open_at {
            inner.insert(at.min(inner.len()), "**");
        }
        let outer = TopicPattern::parse(&outer.join(".")).unwrap();
        let inner = TopicPattern::parse(&inner.join(".")).unwrap();
        let most = outer.split('.').count() + 1;
        let names = stretched(&inner, most);
        let escaped = names.iter().find(|name| inner.matches(name) && !outer.matches(name));
        prop_assert_eq!(covers(&outer, &inner), escaped.is_none(), "escapes: {:?}", escaped);
    }
}
