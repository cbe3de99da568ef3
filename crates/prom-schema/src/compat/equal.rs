//! When two JSON values are the same to JSON Schema: `1` is `1.0`, and the order of members does not matter.

use serde_json::Value;

use super::number::Exact;

pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || Exact::read(left) == Exact::read(right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let holds = |(name, value): (&String, &Value)| right.get(name).is_some_and(|other| same(value, other));
            left.len() == right.len() && left.iter().all(holds)
        }
        (left, right) => left == right,
    }
}

/// The value in one spelling, so that equal values have equal text.
pub(super) fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => Exact::read(number).map_or_else(|| number.to_string(), |exact| exact.to_string()),
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            let member =
                |(name, value): (&String, &Value)| format!("{}:{}", Value::from(name.as_str()), canonical(value));
            format!("{{{}}}", sorted.into_iter().map(member).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_equal_by_value_and_types_are_not() {
        for (left, right, equal) in [
            (json!(1), json!(1.0), true),
            (json!(1), json!(true), false),
            (json!(0), json!(-0.0), true),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0), false),
            (json!([1, {"a": 2.0}]), json!([1.0, {"a": 2}]), true),
            (json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}), true),
            (json!({"a": 1}), json!({"a": 1, "b": null}), false),
        ] {
            assert_eq!(same(&left, &right), equal, "{left} {right}");
            assert_eq!(canonical(&left) == canonical(&right), equal, "{left} {right}");
        }
    }
}
