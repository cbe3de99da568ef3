//! Topic names that are valid, and some that are not.

use prom_types::{TopicName, limits};

pub fn text() -> String {
    let (valid, invalid): (Vec<String>, Vec<String>) =
        candidates().into_iter().partition(|name| TopicName::parse(name).is_ok());
    super::object(&[("valid", super::values(valid)), ("invalid", super::values(invalid))])
}

fn candidates() -> Vec<String> {
    let mut names: Vec<String> = [
        "a",
        "0",
        "a1",
        "heartbeat.received",
        "orders.placed.v2",
        "v1",
        "a.v",
        "a.v01",
        "0.1.2",
        "dlq.orders",
        "system.audit",
        "dlq",
        "a.b.c.d.e.f.g.h.i.j",
        "",
        ".",
        "..",
        "a.",
        ".a",
        "a..b",
        "A",
        "a.B",
        "a-b",
        "a_b",
        "a b",
        " a",
        "a ",
        "a/b",
        "a\\b",
        "a:b",
        "a\n",
        "a\u{0}",
        "ä",
        "a.ß",
        "日本",
        "🔥",
        "*",
        "**",
        "a.*",
        "a.**",
        "a,b",
        "٣",
    ]
    .map(str::to_owned)
    .into();
    for length in [limits::TOPIC_BYTES, limits::TOPIC_BYTES + 1] {
        names.push("a".repeat(length));
    }
    names.push(format!("dlq.{}", "a".repeat(limits::TOPIC_BYTES)));
    names.push(format!("dlq.{}", "a".repeat(limits::TOPIC_BYTES + 1)));
    names.push(format!("system.{}", "a".repeat(limits::TOPIC_BYTES)));
    names
}
