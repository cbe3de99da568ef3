//! Patterns against the plainest matcher one can write, and the examples people rely on.

use prom_types::TopicPattern;
use proptest::prelude::*;

/// Follows the definition word by word, in exponential time.
fn matches_naively(pattern: &[&str], topic: &[&str]) -> bool {
    match pattern {
        [] => topic.is_empty(),
        ["**", rest @ ..] => (0..=topic.len()).any(|taken| matches_naively(rest, &topic[taken..])),
        ["*", rest @ ..] => !topic.is_empty() && matches_naively(rest, &topic[1..]),
        [name, rest @ ..] => topic.first() == Some(name) && matches_naively(rest, &topic[1..]),
    }
}

fn check(pattern: &str, topic: &str, expected: bool) {
    let parsed = TopicPattern::parse(pattern).expect("a valid pattern");
    assert_eq!(parsed.matches(topic), expected, "{pattern} on {topic}");
}

fn joined(segments: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(segments), 1..=most).prop_map(|segments| segments.join("."))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn matching_follows_the_definition(
        pattern in joined(&["a", "b", "c", "*", "**"], 7),
        topic in joined(&["a", "b", "c"], 8),
    ) {
        let expected = matches_naively(
            &pattern.split('.').collect::<Vec<_>>(),
            &topic.split('.').collect::<Vec<_>>(),
        );
        prop_assert_eq!(TopicPattern::parse(&pattern).unwrap().matches(&topic), expected);
    }

    #[test]
    fn a_leading_wildcard_never_reaches_the_hubs_own_topics(
        wildcard in joined(&["*", "**"], 1),
        rest in joined(&["a", "*", "**"], 5),
        topic in joined(&["a", "b"], 5),
        own in prop::sample::select(vec!["dlq", "system"]),
    ) {
        let topic = format!("{own}.{topic}");
        let (longer, named) = (format!("{wildcard}.{rest}"), format!("{own}.**"));
        prop_assert!(!TopicPattern::parse(&wildcard).unwrap().matches(&topic));
        prop_assert!(!TopicPattern::parse(&longer).unwrap().matches(&topic));
        prop_assert!(TopicPattern::parse(&named).unwrap().matches(&topic));
    }

    #[test]
    fn a_topic_is_a_pattern_that_matches_itself_alone(
        topic in joined(&["a", "b", "v1"], 5),
        other in joined(&["a", "b", "v1"], 5),
    ) {
        let pattern = TopicPattern::parse(&topic).unwrap();
        prop_assert_eq!(pattern.matches(&other), topic == other);
        prop_assert_eq!(pattern.as_topic().unwrap().to_string(), topic);
    }
}

#[test]
fn two_stars_are_zero_or_more_segments_anywhere() {
    check("a.**.c", "a.b.c.d.c", true);
    check("a.**.c", "a.c", true);
    check("a.**.c", "a.b.c.d", false);
    check("a.**", "a", true);
    check("a.**", "a.b.c", true);
    check("a.**", "ab", false);
    check("**.c", "c", true);
    check("**", "anything.at.all", true);
}

#[test]
fn one_star_is_exactly_one_segment() {
    check("a.*", "a.b", true);
    check("a.*", "a", false);
    check("a.*", "a.b.c", false);
    check("*.b", "a.b", true);
    check("*", "a", true);
    check("*", "a.b", false);
}

#[test]
fn the_hubs_topics_have_to_be_named() {
    for pattern in ["**", "*.orders", "**.orders", "*.**", "*.*"] {
        check(pattern, "dlq.orders", false);
        check(pattern, "system.orders", false);
    }
    check("dlq.**", "dlq.orders", true);
    check("dlq.*", "dlq.orders", true);
    check("system.orders", "system.orders", true);
    check("**", "dlqs.orders", true);
}

#[test]
fn backtracking_costs_no_exponential_time() {
    let pattern = ["**.a"; 50].join(".");
    let topic = ["a.b"; 60].join(".");
    check(&pattern, &topic, false);
}

#[test]
fn wildcards_name_no_topic() {
    for pattern in ["*", "a.**", "a.*.b"] {
        assert_eq!(TopicPattern::parse(pattern).unwrap().as_topic(), None);
    }
}
