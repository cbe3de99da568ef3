//! Patterns, topics, and whether one matches the other.

use prom_types::TopicPattern;
use serde_json::{Value, json};

const PATTERNS: [&str; 27] = [
    "a",
    "a.b",
    "*",
    "**",
    "a.*",
    "*.a",
    "a.**",
    "**.a",
    "a.**.c",
    "a.*.c",
    "*.*",
    "*.**",
    "**.*",
    "**.**",
    "a.**.**",
    "a.**.b.**.c",
    "a.**.*.c",
    "a.*.**",
    "**.b.**",
    "**.a.b",
    "dlq.**",
    "dlq.*",
    "dlq.orders",
    "system.**",
    "dlq",
    "heartbeat.*",
    "process.**",
];

const TOPICS: [&str; 26] = [
    "a",
    "b",
    "aa",
    "a.b",
    "a.c",
    "b.a",
    "a.a",
    "a.b.c",
    "a.b.c.d.c",
    "a.b.c.d",
    "a.b.b.c",
    "a.c.b.c",
    "a.b.c.c",
    "c.a",
    "a.b.a.b",
    "x.y.a.b",
    "dlq",
    "dlq.a",
    "dlq.orders",
    "dlq.orders.placed",
    "dlqa.b",
    "system",
    "system.audit",
    "systems.a",
    "heartbeat.received",
    "process.state.v1",
];

const INVALID: [&str; 14] = ["", ".", "a.", ".a", "a..b", "A", "a-b", "a.***", "a*", "*a", "a.b*", "a b", "ä", "a.**b"];

pub fn text() -> String {
    let all = PATTERNS.iter().flat_map(|pattern| TOPICS.iter().map(move |topic| (pattern, topic)));
    let row = |(pattern, topic): (&&str, &&str)| -> Option<Value> {
        let parsed = TopicPattern::parse(pattern).ok()?;
        Some(json!([pattern, topic, parsed.matches(topic)]))
    };
    let refused = INVALID.into_iter().filter(|pattern| TopicPattern::parse(pattern).is_err());
    super::object(&[("matches", all.filter_map(row).collect()), ("invalid", super::values(refused))])
}
