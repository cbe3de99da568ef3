//! Documents with the verdict of the `jsonschema` crate, for the validators in other languages.
//!
//! `PROM_WRITE_VERDICTS=1 cargo test -p prom-schema verdicts` writes them again. With `PROM_VERDICTS_OUT` a file of that name gets
//! `PROM_STEPS` documents for each schema under `PROM_SEED`, for a longer run of the TypeScript test.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use prom_schema::in_order;

use crate::corpus;
use crate::documents::{Seeded, damage, draw};

/// Documents of each schema that are drawn for the file that is checked in.
const DRAWN: usize = 4000;

/// Those that are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Selection {
    /// Twenty valid ones; of the invalid ones four for every single place in the schema that refuses a document alone, so that
    /// each keyword has to be checked, and ten others.
    Telling,
    All,
}

/// Keywords in these are declared as not checked, so their verdicts differ by design.
const UNCOVERED: [&str; 1] = ["uncovered.all"];

fn verdicts(seed: u64, drawn: usize, selection: Selection) -> Value {
    let mut all = Map::new();
    for source in corpus::all() {
        if UNCOVERED.contains(&source.topic.as_str()) {
            continue;
        }
        let judge = jsonschema::options().should_validate_formats(false).build(&source.schema).unwrap();
        let mut random = Seeded(seed);
        let (mut valid, mut invalid, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut by_place: BTreeMap<String, usize> = BTreeMap::new();
        for round in 0..drawn {
            let mut document = in_order(draw(&source.schema, &source.schema, &mut random, 0));
            for _ in 0..round % 3 {
                damage(&mut document, &mut random);
                document = in_order(document);
            }
            if !seen.insert(document.to_string()) {
                continue;
            }
            let places: Vec<String> =
                judge.iter_errors(&document).map(|error| error.schema_path().to_string()).collect();
            let side = if places.is_empty() { &mut valid } else { &mut invalid };
            let (place, limit) = match places.as_slice() {
                [] => ("", 20),
                [place] => (place.as_str(), 4),
                _ => ("several", 10),
            };
            let count = by_place.entry(place.to_owned()).or_default();
            *count += 1;
            if selection == Selection::All || *count <= limit {
                side.push(document);
            }
        }
        all.insert(format!("{}/{}", source.topic, source.version), json!({"valid": valid, "invalid": invalid}));
    }
    Value::Object(all)
}

/// One schema per line, sorted, so that a change can be read.
fn to_text(verdicts: &Value) -> String {
    let mut lines: Vec<String> = verdicts
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, documents)| format!("{}: {}", Value::from(name.as_str()), in_order(documents.clone())))
        .collect();
    lines.sort();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

pub fn read() -> Value {
    serde_json::from_str(&std::fs::read_to_string(corpus::folder().join("verdicts.json")).unwrap()).unwrap()
}

#[test]
fn the_verdicts_in_the_file_are_those_of_the_judge() {
    let text = to_text(&verdicts(1, DRAWN, Selection::Telling));
    let path = corpus::folder().join("verdicts.json");
    if std::env::var_os("PROM_WRITE_VERDICTS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(written == text, "verdicts.json is not current: PROM_WRITE_VERDICTS=1 cargo test -p prom-schema verdicts");
}

#[test]
fn every_schema_has_documents_of_both_kinds() {
    for (name, documents) in read().as_object().unwrap() {
        let count = |kind: &str| documents[kind].as_array().unwrap().len();
        let (valid, invalid) = (count("valid"), count("invalid"));
        let wanted = |kind: &str| if name.starts_with(kind) { 0 } else { 2 };
        assert!(valid >= wanted("nothing.goes") && invalid >= wanted("anything.goes"), "{name}: {valid}, {invalid}");
    }
}

#[test]
fn a_longer_run_can_be_written() {
    let Some(path) = std::env::var_os("PROM_VERDICTS_OUT") else {
        return;
    };
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let count = usize::try_from(number("PROM_STEPS", 2000)).unwrap();
    std::fs::write(path, to_text(&verdicts(number("PROM_SEED", 2), count, Selection::All))).unwrap();
}
