//! Which properties of a document a schema does not declare, written for the tests and apart from the code they test.

use serde_json::Value;

pub fn has_undeclared(schema: &Value, document: &Value) -> bool {
    walk(schema, &[schema], document)
}

/// A schema and everything that judges the same value through it.
fn in_place<'s>(root: &'s Value, schema: &'s Value, found: &mut Vec<&'s Value>) {
    if found.iter().any(|other| std::ptr::eq(*other, schema)) {
        return;
    }
    found.push(schema);
    for name in ["allOf", "anyOf", "oneOf"] {
        for part in schema.get(name).and_then(Value::as_array).into_iter().flatten() {
            in_place(root, part, found);
        }
    }
    // Without `if` the other two say nothing.
    let conditional: &[&str] = if schema.get("if").is_some() { &["not", "if", "then", "else"] } else { &["not"] };
    for name in conditional {
        if let Some(part) = schema.get(*name) {
            in_place(root, part, found);
        }
    }
    for part in schema.get("dependentSchemas").and_then(Value::as_object).into_iter().flatten() {
        in_place(root, part.1, found);
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
        && let Some(target) = root.pointer(&reference[1..])
    {
        in_place(root, target, found);
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    jsonschema::is_valid(&serde_json::json!({ "pattern": pattern }), &Value::from(name))
}

fn says_something(schema: &Value) -> bool {
    schema.as_object().is_some_and(|members| !members.is_empty())
}

/// Parts that pass in every document that passes the schema.
fn always<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    let all = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(|reference| root.pointer(&reference[1..]));
    all.chain(reference).collect()
}

fn looks_at_item(root: &Value, schema: &Value, index: usize) -> bool {
    schema.get("items").is_some()
        || schema.get("prefixItems").is_some_and(|prefix| prefix.get(index).is_some())
        || always(root, schema)
            .iter()
            .any(|part| part.get("unevaluatedItems").is_some() || looks_at_item(root, part, index))
}

fn looks_at_member(root: &Value, schema: &Value, name: &str) -> bool {
    let patterns = schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
    schema.get("additionalProperties").is_some()
        || schema.get("properties").is_some_and(|properties| properties.get(name).is_some())
        || patterns.into_iter().any(|(pattern, _)| matches(pattern, name))
        || always(root, schema)
            .iter()
            .any(|part| part.get("unevaluatedProperties").is_some() || looks_at_member(root, part, name))
}

fn walk(root: &Value, schemas: &[&Value], document: &Value) -> bool {
    let mut all = Vec::new();
    for schema in schemas {
        in_place(root, schema, &mut all);
    }
    match document {
        Value::Array(items) => items.iter().enumerate().any(|(index, item)| {
            let mut inner = Vec::new();
            for schema in &all {
                let prefix = schema.get("prefixItems").and_then(|prefix| prefix.get(index));
                inner.extend(prefix.or_else(|| schema.get("items")));
                inner.extend(schema.get("contains"));
                inner.extend(schema.get("unevaluatedItems").filter(|_| !looks_at_item(root, schema, index)));
            }
            walk(root, &inner, item)
        }),
        Value::Object(members) => members.iter().any(|(name, member)| {
            let mut declared = false;
            let mut inner = Vec::new();
            for schema in &all {
                let before = inner.len();
                inner.extend(schema.get("properties").and_then(|properties| properties.get(name)));
                for (pattern, value) in schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten()
                {
                    inner.extend(matches(pattern, name).then_some(value));
                }
                declared |= inner.len() > before;
                let required = schema.get("required").and_then(Value::as_array);
                declared |= required.is_some_and(|required| required.iter().any(|other| other == name.as_str()));
                if inner.len() == before {
                    inner.extend(schema.get("additionalProperties"));
                }
                inner.extend(schema.get("unevaluatedProperties").filter(|_| !looks_at_member(root, schema, name)));
                let rest = [schema.get("additionalProperties"), schema.get("unevaluatedProperties")];
                declared |= rest.into_iter().flatten().any(says_something);
            }
            !declared || walk(root, &inner, member)
        }),
        _ => false,
    }
}
