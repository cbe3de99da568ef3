//! JSON with the members of its objects sorted: texts that differ only in the order of keys become the same.
//!
//! `serde_json` sorts by itself unless some dependency in the same build asks it to keep the order of the text. What is
//! digested, compared or generated must not depend on that.

use serde_json::Value;

/// The same value, sorted at every depth.
pub fn in_order(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(in_order).collect(),
        Value::Object(members) => {
            let mut sorted: Vec<(String, Value)> = members.into_iter().collect();
            sorted.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            sorted.into_iter().map(|(name, value)| (name, in_order(value))).collect()
        }
        other => other,
    }
}
