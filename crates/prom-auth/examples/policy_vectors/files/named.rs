//! Policies by name, and their answers to questions about topics and patterns.

use prom_auth::{Action, Policy, Rule};
use prom_types::{GroupName, TopicName, TopicPattern};
use serde::Deserialize;
use serde_json::{Value, json};

/// Each has a `name`, and `scopes` or `rules`.
fn written() -> Vec<Value> {
    vec![
        json!({"name": "nothing", "scopes": []}),
        json!({"name": "heartbeats", "scopes": ["publish:heartbeat.*", "subscribe:process.**"]}),
        json!({"name": "every action", "scopes": ["*"]}),
        json!({"name": "every topic", "scopes": ["subscribe"]}),
        json!({"name": "every action here", "scopes": ["*:orders.**"]}),
        json!({"name": "wild in the middle", "scopes": ["subscribe:orders.**.failed"]}),
        json!({"name": "letters", "scopes": ["subscribe:dlq.orders.**"]}),
        json!({"name": "two halves", "scopes": ["subscribe:orders", "subscribe:orders.*.**"]}),
        json!({"name": "deny over allow", "rules": [
            {"effect": "deny", "action": "*", "topics": ["orders.secret.**"]},
            {"effect": "allow", "action": ["publish", "subscribe"], "topics": ["orders.**"]},
        ]}),
        json!({"name": "deny in the middle", "rules": [
            {"effect": "allow", "action": "subscribe", "topics": ["**"]},
            {"effect": "deny", "action": "subscribe", "topics": ["**.secret.**"]},
        ]}),
        json!({"name": "one group", "rules": [
            {"effect": "allow", "action": "subscribe", "topics": ["orders.**"], "groups": ["billing"]},
        ]}),
        json!({"name": "any group but one", "rules": [
            {"effect": "allow", "action": "subscribe", "topics": ["orders.**"], "groups": ["*"]},
            {"effect": "deny", "action": "subscribe", "topics": ["orders.**"], "groups": ["audit"]},
        ]}),
        json!({"name": "scopes of groups", "scopes": ["subscribe:orders.**@bill*", "subscribe:process.state@audit", "ops@*"]}),
        json!({"name": "groups by their beginning", "rules": [
            {"effect": "allow", "action": "subscribe", "topics": ["**"], "groups": ["*"]},
            {"effect": "deny", "action": "subscribe", "topics": ["orders.**"], "groups": ["aud*"]},
        ]}),
        json!({"name": "only denies", "rules": [{"effect": "deny", "action": "ops", "topics": ["a"]}]}),
    ]
}

fn compiled() -> Vec<(String, Policy)> {
    let compile = |written: Value| {
        let policy = match written.get("scopes") {
            Some(scopes) => Policy::from_scopes(&Vec::<String>::deserialize(scopes).expect("texts")),
            None => Policy::from_rules(Vec::<Rule>::deserialize(&written["rules"]).expect("rules")),
        };
        (written["name"].as_str().expect("a name").to_owned(), policy.expect("a valid policy"))
    };
    written().into_iter().map(compile).collect()
}

const TOPICS: [&str; 13] = [
    "heartbeat.received",
    "heartbeat.received.v2",
    "process.state",
    "process",
    "orders",
    "orders.placed",
    "orders.secret",
    "orders.secret.v1",
    "orders.eu.payment.failed",
    "dlq",
    "dlq.orders.placed",
    "system.audit",
    "a",
];

const PATTERNS: [&str; 16] = [
    "**",
    "*",
    "*.**",
    "heartbeat.*",
    "heartbeat.**",
    "process.**",
    "orders.**",
    "orders.*",
    "orders.*.v1",
    "orders.placed.**",
    "orders.secret",
    "orders.**.failed",
    "orders.eu.**.failed",
    "dlq.**",
    "dlq.orders.*",
    "**.secret",
];

const GROUPS: [Option<&str>; 3] = [None, Some("billing"), Some("audit")];

pub fn policies() -> Vec<Value> {
    written()
}

/// Rows `[policy, action, topic, group or null, whether it is allowed]`.
pub fn topics() -> Vec<Value> {
    let answer = |policy: &Policy, action: Action, topic: &str, group: Option<&GroupName>| {
        let topic = TopicName::parse(topic).expect("a topic");
        match group {
            Some(group) => policy.allows_in_group(action, &topic, group),
            None => policy.allows(action, &topic),
        }
    };
    rows(&TOPICS, answer)
}

/// Rows `[policy, action, pattern, group or null, whether it is allowed]`.
pub fn patterns() -> Vec<Value> {
    let answer = |policy: &Policy, action: Action, pattern: &str, group: Option<&GroupName>| {
        policy.allows_pattern(action, &TopicPattern::parse(pattern).expect("a pattern"), group)
    };
    rows(&PATTERNS, answer)
}

/// Groups are asked about only for subscribing: the other actions have none.
fn rows(asked: &[&str], answer: impl Fn(&Policy, Action, &str, Option<&GroupName>) -> bool) -> Vec<Value> {
    let mut rows = Vec::new();
    for (name, policy) in compiled() {
        for action in Action::ALL {
            let groups = if action == Action::Subscribe { &GROUPS[..] } else { &GROUPS[..1] };
            for (asked, group) in asked.iter().flat_map(|asked| groups.iter().map(move |group| (asked, group))) {
                let parsed = group.map(|group| GroupName::parse(group).expect("a group"));
                let allowed = answer(&policy, action, asked, parsed.as_ref());
                rows.push(json!([name, action, asked, group, allowed]));
            }
        }
    }
    rows
}
