//! When two JSON values are the same to JSON Schema: `1` is `1.0`, and the order of members does not matter.

use std::collections::HashSet;
use std::ops::Deref;

use serde_json::Value;

use super::number::Exact;

/// Up to so many values are compared one by one, which is faster than spelling the value that is looked for.
const FEW: usize = 8;

/// The values of an `enum`. Long ones are looked up by their spelling: a schema may list tens of thousands, and each of them is
/// asked for when two such lists are compared.
#[derive(Debug)]
pub(super) struct ListedValues {
    values: Vec<Value>,
    spelled: HashSet<String>,
}

impl ListedValues {
    pub fn new(values: Vec<Value>) -> Self {
        let spelled = if values.len() > FEW { values.iter().map(canonical).collect() } else { HashSet::new() };
        Self { values, spelled }
    }

    pub fn has(&self, value: &Value) -> bool {
        if self.values.len() > FEW {
            return self.spelled.contains(&canonical(value));
        }
        self.values.iter().any(|listed| same(value, listed))
    }
}

impl Deref for ListedValues {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.values
    }
}

/// Whether two of these are the same.
pub(super) fn repeat(items: &[Value]) -> bool {
    if items.len() > FEW {
        let mut spelled = HashSet::with_capacity(items.len());
        return items.iter().any(|item| !spelled.insert(canonical(item)));
    }
    (1..items.len()).any(|at| items[..at].iter().any(|before| same(before, &items[at])))
}

pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || Exact::read(left).is_some_and(|left| Exact::read(right) == Some(left))
        }
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
            for others in [0, 20] {
                let listed = (0..others).map(|at| json!({ "other": at })).chain([left.clone()]).collect();
                let listed = ListedValues::new(listed);
                assert_eq!(listed.has(&right), equal, "{left} {right}");
                let both: Vec<Value> = listed.iter().chain([&right]).cloned().collect();
                assert_eq!(repeat(&both), equal, "{left} {right}");
            }
        }
    }
}
