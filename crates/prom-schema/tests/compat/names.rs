//! Names of properties that several demands meet in, and properties that another branch declares.

use prom_schema::CompatPolicy;
use prom_schema::compat::{CompatRule, check};
use serde_json::{Value, json};

use crate::settings;

fn refused(old: &Value, new: &Value, policy: CompatPolicy) {
    let found = check(old, new, &settings(policy)).unwrap();
    assert!(!found.is_empty(), "{policy:?} {old} {new}");
    assert!(found.iter().all(|found| found.rule != CompatRule::Undecided && found.example.is_some()), "{found:?}");
}

/// A name that stood for all others met one demand, and no other name was tried for the next.
#[test]
fn one_name_may_have_to_break_several_demands() {
    let old = json!({"type": "object", "maxProperties": 1});
    let long = json!({"propertyNames": {"maxLength": 2}});
    for other in [
        json!({"additionalProperties": {"type": "string"}}),
        json!({"patternProperties": {"^a": {"type": "string"}}}),
        json!({"unevaluatedProperties": {"type": "string"}}),
        json!({"propertyNames": {"pattern": "^a"}}),
        json!({"anyOf": [{"propertyNames": {"pattern": "^a"}}, {"additionalProperties": {"type": "string"}}]}),
    ] {
        refused(&old, &json!({"anyOf": [long, other]}), CompatPolicy::Strict);
        refused(&old, &json!({"anyOf": [other, long]}), CompatPolicy::Strict);
    }
    let nested = json!({"additionalProperties": {
        "not": {"additionalProperties": {"enum": []}}, "maxProperties": 1}});
    refused(&nested, &json!({"additionalProperties": {"propertyNames": {"maxLength": 0}}}), CompatPolicy::Strict);
}

/// What a branch declares below a member counts in the other branches too.
#[test]
fn every_branch_declares_at_every_depth() {
    let new = json!({"properties": {"x": {"properties": {"y": {"type": "integer"}}}}});
    let (exact, open) = (new.clone(), json!({"properties": {"x": {"type": "object"}}}));
    for old in [
        json!({"if": {"required": ["k"]}, "then": exact, "else": open}),
        json!({"anyOf": [{"allOf": [exact], "required": ["k"]}, open]}),
        json!({"properties": {"x": {}}, "dependentSchemas": {"k": exact}}),
        json!({"not": {"allOf": [exact], "required": ["k"]}}),
    ] {
        refused(&old, &new, CompatPolicy::Lenient);
    }
    let old = json!({"if": {"minItems": 3}, "then": {"items": exact}, "else": {"items": open}});
    refused(&old, &json!({"items": new}), CompatPolicy::Lenient);
}
