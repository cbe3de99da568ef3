//! Random schemas, changes to them, and documents, all from small alphabets so that they meet often.

use serde_json::{Map, Value, json};

/// SplitMix64: small, and the same everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    fn pick<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len())]
    }
}

const NAMES: [&str; 4] = ["a", "b", "ab", "c"];
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
const PATTERNS: [&str; 8] = ["^a", "b$", "^[ab]*$", "^ab?$", "c", "^.{1,2}$", "^$", "^[^a]"];
const KEYWORDS: [&str; 34] = [
    "type",
    "type",
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "items",
    "prefixItems",
    "contains",
    "required",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "properties",
    "properties",
    "patternProperties",
    "additionalProperties",
    "dependentRequired",
    "dependentSchemas",
    "logic",
    "logic",
    "if",
    "unevaluatedProperties",
    "unevaluatedItems",
];

pub fn schema(random: &mut Random, depth: usize) -> Value {
    if depth > 0 {
        match random.below(16) {
            0 => return json!(true),
            1 => return json!(false),
            2 => return json!({"$ref": "#/$defs/d"}),
            _ => {}
        }
    }
    let mut members = Map::new();
    let keywords = if depth >= 2 { 1 + random.below(2) } else { 1 + random.below(4) };
    for _ in 0..keywords {
        let keyword = *random.pick(&KEYWORDS);
        add(random, &mut members, keyword, depth);
    }
    if depth == 0 {
        // A definition that may lead back to itself, but only through a member or an item.
        let next = match random.below(3) {
            0 => json!({"properties": {"a": {"$ref": "#/$defs/d"}}}),
            1 => json!({"items": {"$ref": "#/$defs/d"}, "maxItems": 2}),
            _ => json!({"type": "integer"}),
        };
        members.insert("$defs".into(), json!({ "d": next }));
    }
    Value::Object(members)
}

fn number(random: &mut Random) -> Value {
    random.pick(&[json!(0), json!(1), json!(2), json!(3), json!(-1), json!(0.5), json!(1.5), json!(1.0)]).clone()
}

fn small(random: &mut Random) -> Value {
    json!(random.below(4))
}

fn scalar(random: &mut Random) -> Value {
    match random.below(6) {
        0 => json!(null),
        1 => json!(random.below(2) == 0),
        2 | 3 => number(random),
        _ => json!(random.pick(&["", "a", "b", "ab", "c", "abc", "aa"])),
    }
}

fn names(random: &mut Random) -> Vec<&'static str> {
    let first = random.below(NAMES.len());
    let mut names = vec![NAMES[first]];
    if random.below(2) == 0 {
        names.push(NAMES[(first + 1) % NAMES.len()]);
    }
    names
}

fn add(random: &mut Random, members: &mut Map<String, Value>, keyword: &str, depth: usize) {
    let value = match keyword {
        "type" if random.below(3) == 0 => {
            let first = random.below(TYPES.len());
            json!([TYPES[first], TYPES[(first + 1 + random.below(5)) % TYPES.len()]])
        }
        "type" => json!(random.pick(&TYPES)),
        "enum" => {
            let mut values = vec![scalar(random)];
            for _ in 0..random.below(3) {
                let value = match random.below(5) {
                    0 => document(random, &[], 1),
                    _ => scalar(random),
                };
                let is_second_number = value.is_number() && values.iter().any(Value::is_number);
                if !values.contains(&value) && !is_second_number {
                    values.push(value);
                }
            }
            json!(values)
        }
        "const" => scalar(random),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => number(random),
        "multipleOf" => random.pick(&[json!(1), json!(2), json!(3), json!(0.5), json!(1.5), json!(0.1)]).clone(),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => small(random),
        "pattern" => json!(random.pick(&PATTERNS)),
        "uniqueItems" => json!(true),
        "required" => json!(names(random)),
        "dependentRequired" => json!({ *random.pick(&NAMES): names(random) }),
        _ => return add_schemas(random, members, keyword, depth),
    };
    members.insert(keyword.into(), value);
}

fn add_schemas(random: &mut Random, members: &mut Map<String, Value>, keyword: &str, depth: usize) {
    if depth >= 3 {
        return;
    }
    let inner = |random: &mut Random| schema(random, depth + 1);
    let value = match keyword {
        "prefixItems" => Value::Array((0..1 + random.below(2)).map(|_| inner(random)).collect()),
        "properties" => {
            let list = names(random);
            Value::Object(list.into_iter().map(|name| (name.to_owned(), inner(random))).collect())
        }
        "patternProperties" => json!({ *random.pick(&PATTERNS): inner(random) }),
        "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" => match random.below(3) {
            0 => inner(random),
            _ => json!(false),
        },
        "dependentSchemas" => json!({ *random.pick(&NAMES): inner(random) }),
        "contains" => {
            if random.below(2) == 0 {
                members.insert("minContains".into(), small(random));
            }
            if random.below(3) == 0 {
                members.insert("maxContains".into(), small(random));
            }
            inner(random)
        }
        "logic" => {
            let name = *random.pick(&["allOf", "anyOf", "oneOf", "not"]);
            let value = match name {
                "not" => inner(random),
                _ => Value::Array((0..1 + random.below(3)).map(|_| inner(random)).collect()),
            };
            members.insert(name.into(), value);
            return;
        }
        "if" => {
            for name in ["then", "else"] {
                if random.below(2) == 0 {
                    members.insert(name.into(), inner(random));
                }
            }
            inner(random)
        }
        _ => inner(random),
    };
    members.insert(keyword.into(), value);
}

/// The schema with one to three changes somewhere.
pub fn mutate(random: &mut Random, schema: &Value) -> Value {
    let mut changed = schema.clone();
    for _ in 0..1 + random.below(3) {
        change(random, &mut changed, 0);
    }
    changed
}

fn change(random: &mut Random, value: &mut Value, depth: usize) {
    let Value::Object(members) = value else {
        if value.is_boolean() {
            *value = schema(random, 2);
        }
        return;
    };
    let parts = [
        "properties",
        "patternProperties",
        "items",
        "not",
        "anyOf",
        "allOf",
        "oneOf",
        "contains",
        "$defs",
        "prefixItems",
        "additionalProperties",
        "if",
        "then",
        "else",
        "propertyNames",
        "dependentSchemas",
    ];
    let present: Vec<&str> = parts.into_iter().filter(|name| members.contains_key(*name)).collect();
    if !present.is_empty() && random.below(2) == 0 {
        let name = *random.pick(&present);
        match members.get_mut(name) {
            Some(Value::Array(items)) => {
                let at = random.below(items.len());
                change(random, &mut items[at], depth + 1);
            }
            Some(Value::Object(inner))
                if matches!(name, "properties" | "patternProperties" | "$defs" | "dependentSchemas") =>
            {
                let at = random.below(inner.len().max(1));
                if let Some(part) = inner.values_mut().nth(at) {
                    change(random, part, depth + 1);
                }
            }
            Some(part) => change(random, part, depth + 1),
            None => {}
        }
        return;
    }
    let removable: Vec<String> = members.keys().filter(|name| *name != "$defs").cloned().collect();
    if !removable.is_empty() && random.below(3) == 0 {
        members.remove(random.pick(&removable));
    } else {
        let keyword = *random.pick(&KEYWORDS);
        add(random, members, keyword, depth.max(1));
    }
}

/// A document, some of it from the `enum` and `const` of the schemas.
pub fn document(random: &mut Random, schemas: &[&Value], depth: usize) -> Value {
    let mut values = Vec::new();
    if random.below(4) == 0 {
        schemas.iter().for_each(|schema| constants(schema, &mut values));
        if !values.is_empty() {
            return random.pick(&values).clone();
        }
    }
    match random.below(if depth >= 3 { 3 } else { 9 }) {
        0..=2 => scalar(random),
        3..=5 => {
            let items = random.below(4);
            let mut list: Vec<Value> = (0..items).map(|_| document(random, schemas, depth + 1)).collect();
            if items > 1 && random.below(4) == 0 {
                list[1] = list[0].clone();
            }
            Value::Array(list)
        }
        _ => {
            let mut members = Map::new();
            for _ in 0..random.below(4) {
                let name = *random.pick(&["a", "b", "ab", "c", "aa", "z"]);
                members.insert(name.into(), document(random, schemas, depth + 1));
            }
            Value::Object(members)
        }
    }
}

fn constants(schema: &Value, values: &mut Vec<Value>) {
    match schema {
        Value::Object(members) => {
            values.extend(members.get("const").cloned());
            values.extend(members.get("enum").and_then(Value::as_array).into_iter().flatten().cloned());
            members.values().for_each(|inner| constants(inner, values));
        }
        Value::Array(items) => items.iter().for_each(|inner| constants(inner, values)),
        _ => {}
    }
}

/// Removes members and items as long as it still fails.
pub fn shrink(old: &Value, new: &Value, fails: impl Fn(&Value, &Value) -> bool) -> (Value, Value) {
    let mut best = (old.clone(), new.clone());
    loop {
        let fewer = smaller(&best.0).into_iter().map(|old| (old, best.1.clone()));
        let fewer = fewer.chain(smaller(&best.1).into_iter().map(|new| (best.0.clone(), new)));
        match fewer.into_iter().find(|(old, new)| fails(old, new)) {
            Some(found) => best = found,
            None => return best,
        }
    }
}

fn smaller(value: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    match value {
        Value::Object(members) => {
            for name in members.keys() {
                let mut without = members.clone();
                without.remove(name);
                found.push(Value::Object(without));
            }
            for (name, inner) in members {
                for inner in smaller(inner) {
                    let mut with = members.clone();
                    with.insert(name.clone(), inner);
                    found.push(Value::Object(with));
                }
            }
        }
        Value::Array(items) => {
            for index in 0..items.len() {
                let mut without = items.clone();
                without.remove(index);
                found.push(Value::Array(without));
                for inner in smaller(&items[index]) {
                    let mut with = items.clone();
                    with[index] = inner;
                    found.push(Value::Array(with));
                }
            }
        }
        _ => {}
    }
    found
}
