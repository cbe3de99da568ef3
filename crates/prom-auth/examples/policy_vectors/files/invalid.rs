//! Invalid scopes and rules. One that passes by mistake is missing from the file, and a test counts them.

use prom_auth::{Policy, Rule};
use serde::Deserialize;
use serde_json::{Value, json};

const SCOPES: [&str; 18] = [
    "",
    ":",
    "publish:",
    ":orders",
    "read:orders",
    "Publish:orders",
    "publish:Orders",
    "publish:orders..placed",
    "publish:orders.***",
    "publish:orders:placed",
    "publish: orders",
    "**",
    "subscribe:orders@",
    "subscribe:orders@a b",
    "subscribe:orders@a*b",
    "subscribe:orders@a**",
    "subscribe:orders@a@b",
    "publish:orders@billing",
];

pub fn scopes() -> Vec<Value> {
    SCOPES.into_iter().filter(|scope| Policy::from_scopes(&[scope]).is_err()).map(Value::from).collect()
}

pub fn rules() -> Vec<Value> {
    let candidates = [
        json!({"action": "publish", "topics": ["a"]}),
        json!({"effect": "allow", "topics": ["a"]}),
        json!({"effect": "allow", "action": "publish"}),
        json!({"effect": "permit", "action": "publish", "topics": ["a"]}),
        json!({"effect": "allow", "action": "read", "topics": ["a"]}),
        json!({"effect": "allow", "action": [], "topics": ["a"]}),
        json!({"effect": "allow", "action": ["publish", "read"], "topics": ["a"]}),
        json!({"effect": "allow", "action": 1, "topics": ["a"]}),
        json!({"effect": "allow", "action": "publish", "topics": []}),
        json!({"effect": "allow", "action": "publish", "topics": "a"}),
        json!({"effect": "allow", "action": "publish", "topics": ["a..b"]}),
        json!({"effect": "allow", "action": "subscribe", "topics": ["a"], "groups": []}),
        json!({"effect": "allow", "action": "subscribe", "topics": ["a"], "groups": "g"}),
        json!({"effect": "allow", "action": "subscribe", "topics": ["a"], "groups": ["g h"]}),
        json!({"effect": "allow", "action": "subscribe", "topics": ["a"], "groups": ["g*h"]}),
        json!({"effect": "allow", "action": "publish", "topics": ["a"], "groups": ["g"]}),
        json!({"effect": "allow", "action": "subscribe", "topics": ["a"], "group": ["g"]}),
        json!("allow"),
    ];
    let is_refused = |rule: &Value| {
        let parsed = Rule::deserialize(rule);
        parsed.map_or(true, |rule| Policy::from_rules(vec![rule]).is_err())
    };
    candidates.into_iter().filter(is_refused).collect()
}
