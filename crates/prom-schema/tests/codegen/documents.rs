//! Documents that are nearly right: drawn along a schema, then damaged. The same seed gives the same documents.

use serde_json::{Map, Value, json};

/// Randomness that is the same everywhere (SplitMix64).
pub struct Seeded(pub u64);

impl Seeded {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound.max(1) as u64).unwrap()
    }

    fn pick<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len())]
    }
}

/// A document that follows most of what the schema says.
pub fn draw(schema: &Value, root: &Value, random: &mut Seeded, depth: usize) -> Value {
    let Value::Object(map) = schema else {
        return junk(random);
    };
    if depth > 6 || random.below(40) == 0 {
        return junk(random);
    }
    if let Some(target) = map.get("$ref").and_then(Value::as_str).and_then(|reference| follow(reference, root)) {
        return draw(target, root, random, depth + 1);
    }
    for keyword in ["examples", "enum"] {
        if let Some(values) = map.get(keyword).and_then(Value::as_array).filter(|_| random.below(8) > 0) {
            return random.pick(values).clone();
        }
    }
    if let Some(value) = map.get("const") {
        return value.clone();
    }
    let mut document = own(map, root, random, depth);
    let mut branches: Vec<&Value> = map.get("allOf").and_then(Value::as_array).into_iter().flatten().collect();
    for keyword in ["anyOf", "oneOf"] {
        branches.extend(map.get(keyword).and_then(Value::as_array).map(|branches| random.pick(branches)));
    }
    branches.extend(["then", "else"].iter().filter_map(|keyword| map.get(*keyword)).take(random.below(3)));
    for branch in branches {
        let drawn = draw(branch, root, random, depth + 1);
        document = match (document, drawn) {
            (Some(Value::Object(mut one)), Value::Object(other)) => {
                one.extend(other);
                Some(Value::Object(one))
            }
            (Some(one @ Value::Object(_)), _) => Some(one),
            (_, drawn) => Some(drawn),
        };
    }
    document.unwrap_or_else(|| junk(random))
}

fn own(map: &Map<String, Value>, root: &Value, random: &mut Seeded, depth: usize) -> Option<Value> {
    let kind = match map.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(Value::Array(kinds)) => random.pick(kinds).as_str().unwrap(),
        _ if map.contains_key("properties") || map.contains_key("dependencies") => "object",
        _ => return None,
    };
    Some(match kind {
        "null" => Value::Null,
        "boolean" => json!(random.below(2) == 0),
        "integer" | "number" => number(map, kind, random),
        "string" => text(map, random),
        "array" => array(map, root, random, depth),
        _ => object(map, root, random, depth),
    })
}

fn number(map: &Map<String, Value>, kind: &str, random: &mut Seeded) -> Value {
    let keywords = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
    let bounds: Vec<f64> = keywords.iter().filter_map(|keyword| map.get(*keyword)?.as_f64()).collect();
    let near = if bounds.is_empty() { 3.0 } else { *random.pick(&bounds) };
    // Beyond this a double is not exact, and the two languages may read different numbers.
    if near.abs() > 9e15 {
        return json!(random.below(1000));
    }
    let drawn = near + *random.pick(&[-1.0, 0.0, 1.0, 2.0, 5.0]);
    match random.below(3) {
        _ if kind == "integer" => json!(drawn as i64),
        0 => json!(drawn as i64),
        1 if drawn.fract() != 0.0 => json!(drawn),
        _ => json!(drawn + 0.25),
    }
}

fn text(map: &Map<String, Value>, random: &mut Seeded) -> Value {
    let bound = |keyword: &str| map.get(keyword).and_then(Value::as_u64);
    let around = bound("minLength").or(bound("maxLength")).unwrap_or(2) as usize;
    let length = (around + random.below(3)).saturating_sub(1);
    let letters = ['a', 'b', 'Z', '5', '-', 'ä', '😀', ' '];
    json!((0..length).map(|_| *random.pick(&letters)).collect::<String>())
}

fn array(map: &Map<String, Value>, root: &Value, random: &mut Seeded, depth: usize) -> Value {
    let bound = |keyword: &str| map.get(keyword).and_then(Value::as_u64);
    let around = bound("minItems").or(bound("maxItems")).unwrap_or(1) as usize;
    let length = (around + random.below(4)).saturating_sub(1);
    let prefix = map.get("prefixItems").or(map.get("items")).and_then(Value::as_array);
    let rest = ["items", "additionalItems", "contains"].iter().filter_map(|keyword| map.get(*keyword));
    let rest: Vec<&Value> = rest.filter(|schema| !schema.is_array()).collect();
    let items = (0..length).map(|at| match prefix.and_then(|prefix| prefix.get(at)) {
        Some(schema) => draw(schema, root, random, depth + 1),
        None if rest.is_empty() => junk(random),
        None => {
            let schema: &Value = random.pick::<&Value>(&rest);
            draw(schema, root, random, depth + 1)
        }
    });
    items.collect()
}

fn object(map: &Map<String, Value>, root: &Value, random: &mut Seeded, depth: usize) -> Value {
    let mut document = Map::new();
    let required: Vec<&str> =
        map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut properties: Vec<(&String, &Value)> =
        map.get("properties").and_then(Value::as_object).into_iter().flatten().collect();
    properties.sort_by_key(|(name, _)| *name);
    for (name, schema) in properties {
        let wanted = if required.contains(&name.as_str()) { random.below(25) > 0 } else { random.below(3) == 0 };
        if wanted {
            document.insert(name.clone(), draw(schema, root, random, depth + 1));
        }
    }
    for name in required {
        if !document.contains_key(name) && random.below(10) > 0 {
            document.insert(name.to_owned(), junk(random));
        }
    }
    let open = map.get("additionalProperties").or(map.get("patternProperties").and_then(|all| all.get("^x-")));
    for _ in 0..random.below(if open.is_some() || document.is_empty() { 6 } else { 2 }) {
        let name = *random.pick(&["x-a", "n-b", "extra", "ab", "a", "b", "c", "d", "toolongname", "__proto__", "Z"]);
        if !document.contains_key(name) {
            document.insert(name.to_owned(), open.map_or(Value::Null, |schema| draw(schema, root, random, depth + 1)));
        }
    }
    Value::Object(document)
}

/// Something that may be anywhere.
fn junk(random: &mut Seeded) -> Value {
    let all = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(7),
        json!(1.5),
        json!(3.0),
        json!(""),
        json!("text"),
        json!("x"),
        json!([]),
        json!([1, "a"]),
        json!([{}, {}]),
        json!({}),
        json!({"a": 1}),
        json!({"b": "c"}),
    ];
    random.pick(&all).clone()
}

/// Changes one place of a document.
pub fn damage(document: &mut Value, random: &mut Seeded) {
    match document {
        Value::Object(map) if !map.is_empty() && random.below(5) > 0 => {
            let mut names: Vec<String> = map.keys().cloned().collect();
            names.sort();
            let name = random.pick(&names).clone();
            match random.below(4) {
                0 => drop(map.remove(&name)),
                1 => drop(map.insert("unknown".into(), junk(random))),
                _ => damage(map.get_mut(&name).unwrap(), random),
            }
        }
        Value::Array(items) if !items.is_empty() && random.below(5) > 0 => match random.below(4) {
            0 => drop(items.pop()),
            1 => items.push(items[0].clone()),
            _ => {
                let at = random.below(items.len());
                damage(&mut items[at], random);
            }
        },
        other => *other = junk(random),
    }
}

fn follow<'v>(reference: &str, root: &'v Value) -> Option<&'v Value> {
    match reference.split_once('#')?.1 {
        "item" => root.pointer("/$defs/item"),
        "short" => root.pointer("/definitions/short"),
        pointer => root.pointer(&pointer.replace("%20", " ")),
    }
}
