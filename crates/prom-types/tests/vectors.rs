//! The committed vectors are what this code gives, so that a client that agrees with them agrees with the hub.

#[path = "../examples/vectors/files/mod.rs"]
mod files;

use std::path::PathBuf;

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
fn vectors_are_json_and_small_enough_to_ship_with_a_client() {
    for (name, _) in files::all() {
        let text = committed(name);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(value.is_object(), "{name}");
        assert!(text.len() < 300 * 1024, "{name} has {} bytes", text.len());
    }
}

#[test]
fn every_list_has_something_in_it() {
    for (name, text) in files::all() {
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (member, items) in value.as_object().unwrap() {
            assert!(items.as_array().is_some_and(|items| !items.is_empty()), "{name}: {member}");
        }
    }
    let patterns: serde_json::Value = serde_json::from_str(&committed("topic_patterns.json")).unwrap();
    assert_eq!(patterns["matches"].as_array().unwrap().len(), 27 * 26, "a pattern was refused");
    assert_eq!(patterns["invalid"].as_array().unwrap().len(), 14, "an invalid pattern passed");
}
