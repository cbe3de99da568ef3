//! The committed vectors about rights are what this code produces, so a client that agrees with them agrees with the hub.

#[path = "../../examples/policy_vectors/files/mod.rs"]
mod files;

use std::path::PathBuf;

use serde_json::Value;

fn committed(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../protocol/vectors").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}; run `cargo xtask gen`"))
}

#[test]
fn committed_vectors_are_current() {
    for (name, text) in files::all() {
        assert!(committed(name) == text, "{name} is not current; run `cargo xtask gen` and look at what changed");
    }
}

#[test]
fn both_answers_occur_in_every_list_and_nothing_invalid_passes() {
    let text = committed("policies.json");
    assert!(text.is_ascii() && text.len() < 300 * 1024, "{} bytes", text.len());
    let vectors: Value = serde_json::from_str(&text).unwrap();
    for list in ["topics", "patterns", "covers", "overlaps"] {
        let rows = vectors[list].as_array().unwrap();
        let allowed = rows.iter().filter(|row| row.as_array().unwrap().last().unwrap() == &Value::Bool(true)).count();
        assert!(allowed > 0 && allowed < rows.len(), "{list}: {allowed} of {}", rows.len());
    }
    assert_eq!(vectors["invalid_scopes"].as_array().unwrap().len(), 18, "an invalid scope passed");
    assert_eq!(vectors["invalid_rules"].as_array().unwrap().len(), 18, "an invalid rule passed");
}
