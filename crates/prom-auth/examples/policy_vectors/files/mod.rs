//! The vector files as text, made from the code that they pin down. The tests compare them with the committed ones.

mod invalid;
mod named;
mod pairs;

use serde_json::Value;

/// Name and text of every file.
pub fn all() -> [(&'static str, String); 1] {
    let members = [
        ("policies", named::policies()),
        ("topics", named::topics()),
        ("patterns", named::patterns()),
        ("covers", pairs::covers()),
        ("overlaps", pairs::overlaps()),
        ("invalid_scopes", invalid::scopes()),
        ("invalid_rules", invalid::rules()),
    ];
    [("policies.json", object(&members))]
}

/// An object of lists, one item per line: a diff shows the lines that changed. Already plain ASCII.
fn object(members: &[(&str, Vec<Value>)]) -> String {
    let member = |(name, items): &(&str, Vec<Value>)| {
        let lines: Vec<String> = items.iter().map(|item| in_order(item).to_string()).collect();
        format!("{}: [\n{}\n]", Value::from(*name), lines.join(",\n"))
    };
    let members: Vec<String> = members.iter().map(member).collect();
    format!("{{\n{}\n}}\n", members.join(",\n"))
}

/// Members sorted, whichever order `serde_json` is built to keep.
fn in_order(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(in_order).collect(),
        Value::Object(members) => {
            let sorted: std::collections::BTreeMap<&String, Value> =
                members.iter().map(|(name, value)| (name, in_order(value))).collect();
            sorted.into_iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        other => other.clone(),
    }
}
