//! Schemas as people write them, at the size they have in practice: each is decided, and well within its budget.

use std::time::Duration;

use prom_schema::CompatPolicy;
use prom_schema::compat::{CompatRule, Settings, Violation, check};
use serde_json::{Map, Value, json};

/// The verdict under both policies, with half of the steps. Debug builds on a busy machine are slow, and steps are the same
/// everywhere.
fn decided(old: &Value, new: &Value) -> [Vec<Violation>; 2] {
    [CompatPolicy::Strict, CompatPolicy::Lenient].map(|policy| {
        let mut settings = Settings { policy, ..Settings::default() };
        settings.budget.time = Duration::from_secs(120);
        settings.budget.steps /= 2;
        let found = check(old, new, &settings).unwrap();
        assert!(found.iter().all(|found| found.rule != CompatRule::Undecided), "{policy:?} {found:?}");
        found
    })
}

fn compatible(old: &Value, new: &Value) {
    assert_eq!(decided(old, new), [vec![], vec![]]);
}

fn incompatible(old: &Value, new: &Value) {
    assert!(decided(old, new).iter().all(|found| !found.is_empty()));
}

/// Events that a tag tells apart.
fn tagged(keyword: &str, tags: usize, fields: usize, longest: usize) -> Value {
    let branch = |tag: usize| {
        let mut properties = Map::new();
        properties.insert("type".into(), json!({ "const": format!("e{tag}") }));
        properties.insert("id".into(), json!({"type": "string", "format": "uuid"}));
        for field in 0..fields {
            let text = json!({"anyOf": [{"type": "string", "maxLength": longest}, {"type": "null"}]});
            properties.insert(format!("p{field}"), text);
        }
        json!({"type": "object", "properties": properties, "required": ["type", "id"], "additionalProperties": false})
    };
    json!({ keyword: (0..tags).map(branch).collect::<Vec<_>>() })
}

#[test]
fn twenty_tagged_events_are_compared() {
    for keyword in ["oneOf", "anyOf"] {
        for (tags, fields) in [(10, 3), (20, 10)] {
            compatible(&tagged(keyword, tags, fields, 40), &tagged(keyword, tags, fields, 45));
            compatible(&tagged(keyword, tags, fields, 40), &tagged(keyword, tags + 1, fields, 40));
            incompatible(&tagged(keyword, tags, fields, 45), &tagged(keyword, tags, fields, 40));
        }
    }
}

#[test]
fn three_hundred_properties_are_compared() {
    let model = |count: usize, last: &str| {
        let mut properties: Map<String, Value> = (0..count)
            .map(|at| (format!("field{at}"), json!({"type": if at % 3 == 0 { "integer" } else { "string" }})))
            .collect();
        properties.insert("last".into(), json!({ "type": last }));
        let required: Vec<String> = (0..count).step_by(2).map(|at| format!("field{at}")).collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    };
    compatible(&model(300, "integer"), &model(300, "number"));
    compatible(&model(299, "string"), &model(300, "string").with_fewer_demands());
    incompatible(&model(300, "string"), &model(300, "integer"));
}

trait FewerDemands {
    fn with_fewer_demands(self) -> Self;
}

impl FewerDemands for Value {
    fn with_fewer_demands(mut self) -> Self {
        self["required"] = json!(["field0"]);
        self
    }
}

#[test]
fn geometries_that_contain_geometries_are_compared() {
    let geometry = |most: usize| {
        let shape = |name: &str, coordinates: Value| {
            json!({"type": "object", "required": ["type", "coordinates"],
                "properties": {"type": {"const": name}, "coordinates": coordinates}})
        };
        let position = json!({"$ref": "#/$defs/position"});
        let line = json!({"type": "array", "items": position, "minItems": 2});
        json!({"$ref": "#/$defs/geometry", "$defs": {
        "position": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": most},
        "geometry": {"oneOf": [
            shape("Point", position.clone()),
            shape("LineString", line.clone()),
            shape("Polygon", json!({"type": "array", "items": line})),
            {"type": "object", "required": ["type", "geometries"], "properties": {
                "type": {"const": "GeometryCollection"},
                "geometries": {"type": "array", "items": {"$ref": "#/$defs/geometry"}}}},
        ]}}})
    };
    compatible(&geometry(3), &geometry(4));
    incompatible(&geometry(4), &geometry(3));
}
