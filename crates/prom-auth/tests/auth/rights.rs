//! What rights allow: a table of questions and expected answers.

use prom_auth::{Action, Policy, PolicyError, Rule};
use prom_types::{GroupName, TopicName, TopicPattern};
use serde_json::{Value, json};

/// `action what [group]`, where a `what` with wildcards is asked as a pattern.
fn ask(policy: &Policy, question: &str) -> bool {
    let mut words = question.split(' ');
    let action = Action::parse(words.next().unwrap()).unwrap();
    let what = TopicPattern::parse(words.next().unwrap()).unwrap();
    let group = words.next().map(|group| GroupName::parse(group).unwrap());
    let answer = policy.allows_pattern(action, &what, group.as_ref());
    if let Some(topic) = what.as_topic() {
        let by_name = match &group {
            Some(group) => policy.allows_in_group(action, &topic, group),
            None => policy.allows(action, &topic),
        };
        assert_eq!(by_name, answer, "a topic and the pattern of that name differ: {question}");
    }
    answer
}

fn check(policy: &Policy, questions: &[(&str, bool)]) {
    for (question, expected) in questions {
        assert_eq!(ask(policy, question), *expected, "{question} by {policy:?}");
    }
}

fn scopes(scopes: &[&str]) -> Policy {
    Policy::from_scopes(scopes).unwrap()
}

fn rules(rules: Value) -> Policy {
    Policy::from_rules(serde_json::from_value::<Vec<Rule>>(rules).unwrap()).unwrap()
}

#[test]
fn no_scopes_mean_no_rights() {
    for policy in [Policy::none(), scopes(&[]), rules(json!([]))] {
        check(&policy, &[("publish a", false), ("subscribe **", false), ("ops a", false), ("admin a g", false)]);
        assert!(Action::ALL.into_iter().all(|action| !policy.allows_everywhere(action)));
    }
}

#[test]
fn scopes_allow_their_action_on_their_topics() {
    check(
        &scopes(&["publish:heartbeat.*", "subscribe:process.**"]),
        &[
            ("publish heartbeat.received", true),
            ("publish heartbeat", false),
            ("publish heartbeat.received.v2", false),
            ("publish heartbeats.received", false),
            ("subscribe heartbeat.received", false),
            ("subscribe process", true),
            ("subscribe process.state.v1", true),
            ("subscribe process.state group", true),
            ("subscribe process.*", true),
            ("subscribe process.**", true),
            ("subscribe *.state", false),
            ("subscribe **", false),
            ("ops process.state", false),
            ("admin heartbeat.received", false),
        ],
    );
}

#[test]
fn a_star_alone_is_everything_and_another_action_without_a_pattern_all_topics_but_the_hubs() {
    check(
        &scopes(&["*"]),
        &[
            ("publish a", true),
            ("subscribe a.b.c", true),
            ("ops a", true),
            ("admin **", true),
            ("subscribe dlq", true),
            ("subscribe dlq.orders", true),
            ("subscribe dlq.**", true),
            ("subscribe system.audit", true),
            ("subscribe **.orders", true),
        ],
    );
    check(&scopes(&["*:orders.**"]), &[("admin orders", true), ("publish orders.x", true), ("ops a", false)]);
    check(
        &scopes(&["subscribe"]),
        &[("subscribe *.**", true), ("publish a", false), ("subscribe dlq.orders", false), ("subscribe dlq.**", false)],
    );
    check(&scopes(&["*:**"]), &[("subscribe dlq.orders", false), ("admin **", true)]);
}

#[test]
fn a_scope_may_be_for_some_groups_only() {
    check(
        &scopes(&["subscribe:orders.**@billing-*", "subscribe:invoices@billing", "ops@*"]),
        &[
            ("subscribe orders.* billing-eu", true),
            ("subscribe orders billing-", true),
            ("subscribe orders billing", false),
            ("subscribe orders", false),
            ("subscribe invoices billing", true),
            ("subscribe invoices billing-eu", false),
            ("ops a g", true),
            ("ops a", false),
        ],
    );
}

#[test]
fn the_hubs_topics_need_a_pattern_that_names_them() {
    check(
        &scopes(&["subscribe:dlq.orders.**", "subscribe:system.*"]),
        &[
            ("subscribe dlq.orders.placed", true),
            ("subscribe dlq.orders.**", true),
            ("subscribe dlq.**", false),
            ("subscribe dlq", false),
            ("subscribe system.audit", true),
            ("subscribe system.**", false),
            ("subscribe **", false),
        ],
    );
}

#[test]
fn wildcards_in_the_middle_cover_narrower_patterns() {
    check(
        &scopes(&["subscribe:orders.**.failed"]),
        &[
            ("subscribe orders.failed", true),
            ("subscribe orders.eu.payment.failed", true),
            ("subscribe orders.*.failed", true),
            ("subscribe orders.**.payment.failed", true),
            ("subscribe orders.**.failed", true),
            ("subscribe orders.**.*.failed", true),
            ("subscribe orders.**", false),
            ("subscribe orders.**.failed.*", false),
            ("subscribe *.failed", false),
            ("subscribe orders.failed.v1", false),
        ],
    );
}

#[test]
fn a_deny_beats_every_allow_in_either_order() {
    let allow = json!({"effect": "allow", "action": ["publish", "subscribe"], "topics": ["orders.**"]});
    let deny = json!({"effect": "deny", "action": "*", "topics": ["orders.secret.**", "**.private"]});
    for policy in [rules(json!([allow, deny])), rules(json!([deny, allow]))] {
        check(
            &policy,
            &[
                ("publish orders.placed", true),
                ("publish orders.secret", false),
                ("publish orders.secret.v1", false),
                ("subscribe orders.eu.private", false),
                ("subscribe orders.placed.*", false),
                ("subscribe orders.placed.v1", true),
                ("subscribe orders.**", false),
                ("subscribe orders.*", false),
                ("subscribe orders.placed.*.done", true),
                ("ops orders.placed", false),
            ],
        );
    }
}

#[test]
fn rules_with_groups_are_for_callers_in_those_groups() {
    let policy = rules(json!([
        {"effect": "allow", "action": "subscribe", "topics": ["orders.**"], "groups": ["billing", "mail:out"]},
        {"effect": "allow", "action": "subscribe", "topics": ["news.**"], "groups": ["*"]},
        {"effect": "deny", "action": "subscribe", "topics": ["news.internal"], "groups": ["mail:out"]},
        {"effect": "allow", "action": "subscribe", "topics": ["weather"]},
        {"effect": "deny", "action": "subscribe", "topics": ["weather"], "groups": ["*"]},
    ]));
    check(
        &policy,
        &[
            ("subscribe orders.placed billing", true),
            ("subscribe orders.** mail:out", true),
            ("subscribe orders.placed shipping", false),
            ("subscribe orders.placed", false),
            ("subscribe news.today any_group", true),
            ("subscribe news.today", false),
            ("subscribe news.** billing", true),
            ("subscribe news.** mail:out", false),
            ("subscribe news.internal mail:out", false),
            ("subscribe news.today mail:out", true),
            ("subscribe weather", true),
            ("subscribe weather billing", false),
        ],
    );
}

#[test]
fn a_pattern_needs_one_allow_that_covers_all_of_it() {
    check(
        &scopes(&["subscribe:orders", "subscribe:orders.*.**"]),
        &[("subscribe orders", true), ("subscribe orders.placed.v1", true), ("subscribe orders.**", false)],
    );
}

#[test]
fn everywhere_means_every_topic_but_the_hubs() {
    assert!(scopes(&["ops"]).allows_everywhere(Action::Ops));
    assert!(scopes(&["ops:*.**"]).allows_everywhere(Action::Ops));
    assert!(!scopes(&["ops:orders.**"]).allows_everywhere(Action::Ops));
    assert!(!scopes(&["admin"]).allows_everywhere(Action::Ops));
    let but = |denied: &str| {
        rules(json!([
            {"effect": "allow", "action": "ops", "topics": ["**"]},
            {"effect": "deny", "action": "ops", "topics": [denied]},
        ]))
    };
    assert!(!but("orders.secret").allows_everywhere(Action::Ops));
    assert!(but("dlq.*.**").allows_everywhere(Action::Ops));
    assert!(!but("dlq.**").allows_everywhere(Action::Ops), "it denies the ordinary topic `dlq` as well");
}

#[test]
fn patterns_of_the_largest_size_are_judged_at_once() {
    let many = |piece: &str| TopicPattern::parse(&[piece; 51].join(".")).unwrap();
    let started = std::time::Instant::now();
    for (allowed, asked) in [("**.a", "**.a"), ("**.a", "**.*"), ("**.*", "**.a"), ("a.*", "**.a")] {
        let (allowed, asked) = (many(allowed), many(asked));
        let rule = |effect: &str, pattern: &str| json!({"effect": effect, "action": "*", "topics": [pattern]});
        rules(json!([rule("allow", &allowed)])).allows_pattern(Action::Subscribe, &asked, None);
        rules(json!([rule("deny", &allowed), rule("allow", &asked)])).allows_pattern(Action::Ops, &asked, None);
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(2), "{:?}", started.elapsed());
}

#[test]
fn invalid_rights_are_refused_with_place_and_reason() {
    let scope = Policy::from_scopes(&["publish:orders", "pubish:orders"]).unwrap_err();
    assert!(scope.to_string().contains("pubish:orders"), "{scope}");
    assert!(scope.to_string().contains("publish, subscribe, ops, admin or *"), "{scope}");
    let good: Rule = serde_json::from_value(json!({"effect": "allow", "action": "ops", "topics": ["a"]})).unwrap();
    let empty = Rule { topics: Vec::new(), ..good.clone() };
    let error = Policy::from_rules(vec![good, empty]).unwrap_err();
    assert!(matches!(error, PolicyError::Rule { rule: 2, .. }), "{error}");
}

#[test]
fn rules_are_written_as_they_are_read() {
    let written = json!([
        {"effect": "allow", "action": "*", "topics": ["a.**", "b"]},
        {"effect": "deny", "action": "publish", "topics": ["a.b"]},
        {"effect": "deny", "action": ["subscribe", "ops"], "topics": ["a.b"], "groups": ["g", "*"]},
    ]);
    let read: Vec<Rule> = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), written);
    assert!(Policy::from_rules(read).unwrap().allows(Action::Ops, &TopicName::parse("b").unwrap()));
}
