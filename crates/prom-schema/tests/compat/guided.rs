//! Documents that a schema is likely to accept, and schemas in other dress: other drafts, names instead of pointers.

use serde_json::{Map, Value, json};

use crate::random_schema::{Random, document};

const STRINGS: [&str; 14] = ["", "a", "b", "ab", "c", "abc", "aa", "ba", "bb", "cb", "é", "😀", "zz", "aab"];

/// A document for one of the schemas; often valid, sometimes nearly.
pub fn guess(random: &mut Random, root: &Value, schema: &Value, depth: usize) -> Value {
    let mut about = Vec::new();
    gather(random, root, schema, &mut about, 0);
    if random.below(12) == 0 || depth > 5 {
        return document(random, &[root], 2);
    }
    let values = constants(&about);
    if !values.is_empty() && random.below(4) != 0 {
        return values[random.below(values.len())].clone();
    }
    match kind(random, &about) {
        "object" => object(random, root, &about, depth),
        "array" => array(random, root, &about, depth),
        "string" => json!(STRINGS[random.below(STRINGS.len())]),
        "integer" | "number" => near(random, &about),
        "boolean" => json!(random.below(2) == 0),
        _ => json!(null),
    }
}

/// The schemas that apply to the same place, as far as they are likely to.
fn gather<'s>(
    random: &mut Random,
    root: &'s Value,
    schema: &'s Value,
    about: &mut Vec<&'s Map<String, Value>>,
    depth: usize,
) {
    let Value::Object(members) = schema else { return };
    if depth > 6 {
        return;
    }
    about.push(members);
    if members.contains_key("$ref") || members.contains_key("$dynamicRef") {
        let definitions = root.get("$defs").or_else(|| root.get("definitions"));
        if let Some(next) = definitions.and_then(|definitions| definitions.get("d")) {
            gather(random, root, next, about, depth + 1);
        }
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        let Some(parts) = members.get(name).and_then(Value::as_array) else { continue };
        let one = random.below(parts.len().max(1));
        for (at, part) in parts.iter().enumerate() {
            if name == "allOf" || at == one {
                gather(random, root, part, about, depth + 1);
            }
        }
    }
    for name in ["if", "then", "else"] {
        if let Some(part) = members.get(name).filter(|_| random.below(2) == 0) {
            gather(random, root, part, about, depth + 1);
        }
    }
    for name in ["dependentSchemas", "dependencies"] {
        for part in members.get(name).and_then(Value::as_object).into_iter().flat_map(Map::values) {
            gather(random, root, part, about, depth + 1);
        }
    }
}

fn constants(about: &[&Map<String, Value>]) -> Vec<Value> {
    let mut values = Vec::new();
    for members in about {
        values.extend(members.get("const").cloned());
        values.extend(members.get("enum").and_then(Value::as_array).into_iter().flatten().cloned());
    }
    values
}

fn kind<'s>(random: &mut Random, about: &[&'s Map<String, Value>]) -> &'s str {
    let mut kinds: Vec<&str> = Vec::new();
    for members in about {
        match members.get("type") {
            Some(Value::String(kind)) => kinds.push(kind),
            Some(Value::Array(list)) => kinds.extend(list.iter().filter_map(Value::as_str)),
            _ => {}
        }
        for name in members.keys() {
            kinds.extend(match name.as_str() {
                "properties"
                | "required"
                | "additionalProperties"
                | "patternProperties"
                | "propertyNames"
                | "minProperties"
                | "maxProperties"
                | "dependentRequired"
                | "unevaluatedProperties" => Some("object"),
                "items" | "prefixItems" | "contains" | "minItems" | "maxItems" | "uniqueItems" | "unevaluatedItems" => {
                    Some("array")
                }
                "minLength" | "maxLength" | "pattern" => Some("string"),
                "minimum" | "maximum" | "multipleOf" | "exclusiveMinimum" | "exclusiveMaximum" => Some("number"),
                _ => None,
            });
        }
    }
    const ALL: [&str; 6] = ["object", "array", "string", "number", "boolean", "null"];
    if kinds.is_empty() || random.below(10) == 0 {
        ALL[random.below(ALL.len())]
    } else {
        kinds[random.below(kinds.len())]
    }
}

fn near(random: &mut Random, about: &[&Map<String, Value>]) -> Value {
    let mut numbers = vec![json!(0), json!(1), json!(1.0), json!(-1), json!(0.5), json!(2), json!(3), json!(1e3)];
    for members in about {
        for name in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"] {
            if let Some(bound) = members.get(name).and_then(Value::as_f64) {
                numbers.extend([
                    json!(bound),
                    json!(bound + 1.0),
                    json!(bound - 1.0),
                    json!(bound * 2.0),
                    json!(bound + 0.5),
                ]);
            }
        }
    }
    numbers[random.below(numbers.len())].clone()
}

fn object(random: &mut Random, root: &Value, about: &[&Map<String, Value>], depth: usize) -> Value {
    let mut names: Vec<String> = Vec::new();
    for members in about {
        names.extend(members.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(text));
        for keyword in ["properties", "dependentRequired", "dependentSchemas"] {
            let listed = members.get(keyword).and_then(Value::as_object).into_iter().flat_map(Map::keys);
            names.extend(listed.filter(|_| random.below(2) == 0).cloned());
        }
    }
    for _ in 0..random.below(3) {
        names.push(["a", "b", "ab", "c", "aa", "z"][random.below(6)].to_owned());
    }
    let mut made = Map::new();
    for name in names {
        let of_name = about.iter().filter_map(|members| members.get("properties")?.get(&name));
        let others = about.iter().flat_map(|members| {
            let patterns =
                members.get("patternProperties").and_then(Value::as_object).into_iter().flat_map(Map::values);
            patterns.chain(["additionalProperties", "unevaluatedProperties"].iter().filter_map(|key| members.get(*key)))
        });
        let schemas: Vec<&Value> = of_name.chain(others).collect();
        let value = match schemas.len() {
            0 => document(random, &[root], depth + 1),
            count => {
                let at = if random.below(3) == 0 { random.below(count) } else { 0 };
                guess(random, root, schemas[at], depth + 1)
            }
        };
        made.insert(name, value);
    }
    Value::Object(made)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn array(random: &mut Random, root: &Value, about: &[&Map<String, Value>], depth: usize) -> Value {
    let prefix = about.iter().find_map(|members| members.get("prefixItems")?.as_array());
    let rest: Vec<&Value> = ["items", "contains", "additionalItems", "unevaluatedItems"]
        .iter()
        .flat_map(|name| about.iter().filter_map(|members| members.get(*name)))
        .collect();
    let least = about.iter().filter_map(|members| members.get("minItems")?.as_u64()).max().unwrap_or(0) as usize;
    let length = (least + random.below(4)).min(6);
    let mut items = Vec::new();
    for at in 0..length {
        let schema = match prefix.and_then(|prefix| prefix.get(at)) {
            Some(schema) => Some(schema),
            None if rest.is_empty() => None,
            None => Some(rest[random.below(rest.len())]),
        };
        items.push(match schema {
            Some(schema) => guess(random, root, schema, depth + 1),
            None => document(random, &[root], depth + 1),
        });
    }
    Value::Array(items)
}

/// The same pair of schemas, written for another draft or with names for references.
pub fn dressed(random: &mut Random, pair: [&Value; 2]) -> [Value; 2] {
    match random.below(6) {
        0 => pair.map(draft7),
        1 => {
            pair.map(|schema| named(schema, "\"$ref\":\"d\"", json!({"$id": "https://a.example/x/root"}), ("$id", "d")))
        }
        2 => pair.map(|schema| named(schema, "\"$dynamicRef\":\"#m\"", json!({}), ("$dynamicAnchor", "m"))),
        3 => pair.map(|schema| named(schema, "\"$ref\":\"#n\"", json!({}), ("$anchor", "n"))),
        _ => pair.map(Value::clone),
    }
}

fn named(schema: &Value, reference: &str, root: Value, (keyword, name): (&str, &str)) -> Value {
    let text = schema.to_string().replace("\"$ref\":\"#/$defs/d\"", reference);
    let mut dressed: Value = serde_json::from_str(&text).unwrap();
    if let Some(Value::Object(next)) = dressed.get_mut("$defs").and_then(|definitions| definitions.get_mut("d")) {
        next.insert(keyword.into(), name.into());
        for (key, value) in root.as_object().unwrap() {
            dressed[key] = value.clone();
        }
        return dressed;
    }
    schema.clone()
}

fn draft7(schema: &Value) -> Value {
    let text = schema.to_string().replace("#/$defs/d", "#/definitions/d");
    let mut dressed: Value = serde_json::from_str(&text).unwrap();
    older(&mut dressed);
    if let Value::Object(members) = &mut dressed {
        members.insert("$schema".into(), "http://json-schema.org/draft-07/schema#".into());
    }
    dressed
}

fn older(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(older),
        Value::Object(members) => {
            for name in ["unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains"] {
                members.remove(name);
            }
            if let Some(prefix) = members.remove("prefixItems") {
                if let Some(rest) = members.remove("items") {
                    members.insert("additionalItems".into(), rest);
                }
                members.insert("items".into(), prefix);
            }
            for name in ["dependentSchemas", "dependentRequired"] {
                if let Some(dependent) = members.remove(name) {
                    members.insert("dependencies".into(), dependent);
                }
            }
            if let Some(definitions) = members.remove("$defs") {
                members.insert("definitions".into(), definitions);
            }
            members.values_mut().for_each(older);
        }
        _ => {}
    }
}
