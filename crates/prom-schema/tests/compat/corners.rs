//! Corner cases of single keywords, each found by hunting for it.

use prom_schema::compat::{Policy, Rule, Settings, Violation, check};
use serde_json::{Value, json};

pub fn strict() -> Settings {
    Settings { policy: Policy::Strict, ..Settings::default() }
}

fn found(old: &Value, new: &Value, settings: &Settings) -> Vec<Violation> {
    check(old, new, settings).unwrap_or_else(|error| panic!("{old} {new}: {error}"))
}

fn compatible(old: Value, new: Value) {
    for settings in [strict(), Settings::default()] {
        assert_eq!(found(&old, &new, &settings), [], "{old} {new} {:?}", settings.policy);
    }
}

fn incompatible(old: Value, new: Value, pointer: &str, rule: Rule) {
    for settings in [strict(), Settings::default()] {
        let found = found(&old, &new, &settings);
        let places: Vec<(&str, Rule)> = found.iter().map(|found| (found.pointer.as_str(), found.rule)).collect();
        assert_eq!(places, [(pointer, rule)], "{old} {new} {:?} {found:?}", settings.policy);
        assert!(found[0].example.is_some(), "{found:?}");
    }
}

#[test]
fn an_integer_is_a_number_and_may_be_written_with_a_point() {
    compatible(json!({"type": "integer"}), json!({"type": "number"}));
    incompatible(json!({"type": "number"}), json!({"type": "integer"}), "/type", Rule::TypeNarrowed);
    compatible(json!({"const": 1.0}), json!({"type": "integer"}));
    compatible(json!({"type": "integer"}), json!({"multipleOf": 1}));
    compatible(json!({"type": "number", "multipleOf": 2}), json!({"type": "integer"}));
    incompatible(json!({"const": 1.5}), json!({"type": "integer"}), "/type", Rule::TypeNarrowed);
}
