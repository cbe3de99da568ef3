//! What is written: the same bytes for the same schemas, and nothing that a schema could smuggle in.

use prom_schema::codegen::{CodegenError, Language, SchemaSource, generate};
use serde_json::{Value, json};

use crate::corpus;

fn text(language: Language, sources: &[SchemaSource]) -> String {
    generate(language, sources).unwrap().text
}

/// What is written for these topics of the corpus.
fn of_topics(language: Language, topics: &[&str]) -> String {
    let sources: Vec<SchemaSource> =
        corpus::all().into_iter().filter(|source| topics.contains(&source.topic.as_str())).collect();
    text(language, &sources)
}

#[test]
fn typescript_of_two_versions() {
    insta::assert_snapshot!(of_topics(Language::TypeScript, &["heartbeat.received"]));
}

#[test]
fn typescript_of_unions_and_tuples() {
    insta::assert_snapshot!(of_topics(Language::TypeScript, &["unions.tagged", "tuples.all"]));
}

#[test]
fn typescript_of_what_is_not_covered() {
    insta::assert_snapshot!(of_topics(Language::TypeScript, &["uncovered.all"]));
}

/// The whole corpus, which `round_trip` compiles. `PROM_WRITE_GENERATED=1 cargo test -p prom-schema generate` writes it.
#[test]
fn rust_of_the_corpus_is_current() {
    let written = text(Language::Rust, &corpus::all());
    let path = corpus::folder().join("generated.rs.txt");
    if std::env::var_os("PROM_WRITE_GENERATED").is_some() {
        std::fs::write(&path, &written).unwrap();
    }
    let drift = prom_schema::codegen::compare(&std::fs::read_to_string(&path).unwrap(), &written);
    assert!(drift.is_none(), "run PROM_WRITE_GENERATED=1 cargo test -p prom-schema generate: {drift:#?}");
}

#[test]
fn the_order_of_schemas_and_of_their_keys_does_not_show() {
    let forward = corpus::all();
    let mut backward: Vec<SchemaSource> = forward.iter().rev().cloned().collect();
    for source in &mut backward {
        source.schema = reversed(&source.schema);
    }
    for language in [Language::TypeScript, Language::Rust] {
        assert!(text(language, &forward) == text(language, &backward), "{language:?}");
    }
}

/// The same value with its keys inserted from the last to the first, for maps that keep that order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(reversed).collect(),
        Value::Object(map) => {
            let mut keys: Vec<(&String, &Value)> = map.iter().collect();
            keys.reverse();
            Value::Object(keys.into_iter().map(|(key, below)| (key.clone(), reversed(below))).collect())
        }
        other => other.clone(),
    }
}

/// Everything from a schema is inside of a comment or a literal, and both are in ASCII or harmless.
#[test]
fn text_of_a_schema_stays_text() {
    let evil = "*/ evil(); /* \n evil() \u{2028} \" ' ` ${evil} \\ \u{202e} r#\"";
    let schema = json!({
        "title": evil, "description": evil, "type": "object", "required": [evil],
        "properties": {evil: {"description": evil, "enum": [evil], "pattern": evil}},
        "$defs": {evil: {"const": {evil: evil}}}, "patternProperties": {"^\"\\n$": {"$ref": "#/$defs/x"}},
    });
    let script = text(Language::TypeScript, &corpus::one(schema.clone()));
    let rust = text(Language::Rust, &corpus::one(schema));
    for code in [&script, &rust] {
        assert!(!code.contains(['\u{2028}', '\u{202e}']), "{code}");
    }
    assert!(!code_only(&script).contains("evil("), "{script}");
    let stray = script.lines().chain(rust.lines()).find(|line| line.trim_start().starts_with("evil"));
    assert_eq!(stray, None, "code from a schema");
}

/// TypeScript without its block comments and strings.
fn code_only(script: &str) -> String {
    let (mut code, mut rest) = (String::new(), script);
    while let Some(at) = rest.find(['"', '/']) {
        let (before, from) = rest.split_at(at);
        code.push_str(before);
        rest = if let Some(comment) = from.strip_prefix("/*") {
            comment.split_once("*/").unwrap().1
        } else if let Some(text) = from.strip_prefix('"') {
            let escaped = |at: usize| text[..at].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
            let end = text.match_indices('"').map(|(at, _)| at).find(|at| !escaped(*at)).unwrap();
            &text[end + 1..]
        } else {
            &from[1..]
        };
    }
    code + rest
}

#[test]
fn schemas_that_never_end_are_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"$ref": "#/$defs/a"}}}),
    ] {
        let refused = generate(Language::TypeScript, &corpus::one(schema.clone())).unwrap_err();
        assert!(matches!(refused, CodegenError::Endless { .. }), "{schema}: {refused}");
    }
}

/// Each level doubles what the one below says; merged without a bound this would not end.
#[test]
fn schemas_that_would_explode_are_written_wider() {
    let mut definitions = serde_json::Map::new();
    definitions.insert("a0".into(), json!({"anyOf": [{"properties": {"x": {"type": "string"}}}, {"type": "integer"}]}));
    for level in 1..60 {
        let below = json!({"$ref": format!("#/$defs/a{}", level - 1)});
        let deeper = json!({"properties": {format!("p{level}"): below}});
        definitions
            .insert(format!("a{level}"), json!({"allOf": [{"anyOf": [below, deeper]}, {"anyOf": [deeper, below]}]}));
    }
    let schema = json!({"allOf": [{"$ref": "#/$defs/a59"}, {"$ref": "#/$defs/a58"}], "$defs": definitions});
    let started = std::time::Instant::now();
    for language in [Language::TypeScript, Language::Rust] {
        assert!(text(language, &corpus::one(schema.clone())).len() < 4_000_000);
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn a_version_that_is_given_twice_is_refused() {
    let twice = [corpus::one(json!(true)), corpus::one(json!(true))].concat();
    assert!(matches!(generate(Language::Rust, &twice), Err(CodegenError::Twice { .. })));
}

#[test]
fn a_schema_without_a_type_is_noted() {
    let generated = generate(Language::Rust, &corpus::one(json!({"properties": {"a": true}}))).unwrap();
    assert!(generated.notes[0].text.contains("there is no `type`"), "{:?}", generated.notes);
}
