//! A second validator, by other people: `jsonschema` for Python. Our verdicts on documents are its verdicts, and what the comparison
//! calls compatible, none of the documents refutes by either of the two.
//!
//! `PROM_SCHEMA_PAIRS` is the number of pairs (150), `PROM_SCHEMA_FIRST` the first seed; `PROM_SCHEMA_DOCUMENTS` the number of
//! documents for each (40). Skipped with a word where Python has no `jsonschema`, which is at least 4.18.

use std::io::Write;
use std::process::Command;

use prom_schema::compat::{Budget, Settings, check};
use prom_schema::{CompatPolicy, Formats, SchemaDocument, Validator};
use serde_json::{Value, json};

use crate::guided::{dressed, guess};
use crate::random_schema::{Random, document, mutate, schema};

/// Reads cases, one a line, and prints those where it judges otherwise.
const JUDGE: &str = r#"
import json, sys
from jsonschema import Draft7Validator, Draft202012Validator
judged = told = 0
for line in open(sys.argv[1]):
    case = json.loads(line)
    sides = []
    for schema in (case["old"], case["new"]):
        draft7 = isinstance(schema, dict) and "draft-07" in schema.get("$schema", "")
        sides.append((Draft7Validator if draft7 else Draft202012Validator)(schema))
    for document, ours in case["documents"]:
        judged += 1
        theirs = [side.is_valid(document) for side in sides]
        refuted = case["compatible"] and theirs == [True, False]
        if theirs != ours or refuted:
            told += 1
            if told <= 20:
                print("DIFFERS", json.dumps({"seed": case["seed"], "old": case["old"], "new": case["new"],
                    "document": document, "ours": ours, "theirs": theirs, "refuted": refuted}))
print("JUDGED", judged, "DIFFERENT", told)
"#;

/// Schemas with their documents, made by hand for each keyword: every schema is old and new to every other one. Where Python means
/// something else by the same schema, as with `\d` and with tenths, it is not asked.
const CORNERS: &str = include_str!("corners.json");

#[derive(serde::Deserialize)]
struct Corner {
    about: String,
    #[serde(default)]
    ours_alone: bool,
    schemas: Vec<Value>,
    documents: Vec<Value>,
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn compiled(schema: &Value) -> Option<Validator> {
    let document = SchemaDocument::new(schema.clone(), Vec::new()).ok()?;
    Validator::compile(&document, &[], Formats::Annotate).ok()
}

/// Tenths are no tenths as floating point, in which Python divides.
fn divides_alike(schema: &Value) -> bool {
    !schema.to_string().contains("\"multipleOf\":0.1")
}

/// A pair, its documents with our verdicts, and whether it is called compatible under `strict`.
fn case(seed: u64, documents: u64) -> Option<Value> {
    let mut random = Random::new(seed);
    let first = schema(&mut random, 0);
    let second = if random.below(8) == 0 { schema(&mut random, 0) } else { mutate(&mut random, &first) };
    let [old, new] = dressed(&mut random, [&first, &second]);
    let (by_old, by_new) = (compiled(&old)?, compiled(&new)?);
    let compatible = check(&old, &new, &crate::settings(CompatPolicy::Strict)).ok()?.is_empty();
    let judged = (0..documents).map(|number| {
        let document = match number % 4 {
            0 => document(&mut random, &[&old, &new], 0),
            1 => guess(&mut random, &new, &new, 0),
            _ => guess(&mut random, &old, &old, 0),
        };
        let verdicts = [by_old.validate(&document).is_ok(), by_new.validate(&document).is_ok()];
        assert!(!compatible || verdicts != [true, false], "seed {seed}: {old} and {new} are refuted by {document}");
        json!([document, verdicts])
    });
    let judged: Vec<Value> = judged.collect();
    (divides_alike(&old) && divides_alike(&new))
        .then(|| json!({"seed": seed, "old": old, "new": new, "compatible": compatible, "documents": judged}))
}

/// Judges cases as Python does. Tells what it told, and panics where it differs; `None` where it is not here.
fn judged_by_python(cases: impl Iterator<Item = Value>) -> Option<String> {
    let has = Command::new("python3").args(["-c", "from jsonschema import Draft202012Validator"]).output();
    if !has.is_ok_and(|ran| ran.status.success()) {
        println!("skipped: python3 with jsonschema (`pip install jsonschema`) is not here");
        return None;
    }
    let mut file = tempfile::NamedTempFile::new().unwrap();
    cases.for_each(|case| writeln!(file, "{case}").unwrap());
    let ran = Command::new("python3").args(["-c", JUDGE]).arg(file.path()).output().unwrap();
    let (told, wrong) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{wrong}");
    assert!(told.trim().ends_with("DIFFERENT 0"), "{told}");
    Some(told.trim().to_owned())
}

#[test]
fn a_second_validator_judges_as_ours_and_refutes_nothing_that_is_called_compatible() {
    let (first, pairs) = (number("PROM_SCHEMA_FIRST", 1), number("PROM_SCHEMA_PAIRS", 150));
    let documents = number("PROM_SCHEMA_DOCUMENTS", 40);
    let (mut read, mut compatible, mut valid) = (0, 0, 0);
    let cases = (first..first + pairs).filter_map(|seed| case(seed, documents)).inspect(|case| {
        read += 1;
        compatible += u64::from(case["compatible"] == true);
        valid += case["documents"].as_array().unwrap().iter().filter(|judged| judged[1][0] == true).count();
    });
    let Some(told) = judged_by_python(cases) else { return };
    println!("{read} pairs, {compatible} of them compatible, {valid} documents valid under the old: {told}");
    assert!(compatible * 10 > read && valid as u64 * 10 > read * documents, "a test of nothing");
}

#[test]
fn no_document_made_by_hand_refutes_what_is_called_compatible_and_every_example_is_one() {
    let corners: Vec<Corner> = serde_json::from_str(CORNERS).unwrap();
    let (mut cases, mut compatible) = (Vec::new(), 0);
    // These are small. Those that cannot be decided take all steps, and there are thousands of pairs.
    let budget = Budget { steps: 10_000, ..Budget::default() };
    let settings = Settings { budget, ..crate::settings(CompatPolicy::Strict) };
    for Corner { about, ours_alone, schemas, documents } in &corners {
        let schemas: Vec<(&Value, Validator)> =
            schemas.iter().filter_map(|schema| Some((schema, compiled(schema)?))).collect();
        assert!(schemas.len() > 3, "{about}");
        for (old, by_old) in &schemas {
            for (new, by_new) in &schemas {
                let violations = check(old, new, &settings).unwrap_or_else(|error| {
                    panic!("{about}: {old} and {new}: {error}");
                });
                compatible += usize::from(violations.is_empty());
                for example in violations.iter().filter_map(|violation| violation.example.as_ref()) {
                    assert!(by_old.validate(example).is_ok(), "{about}: {example} is not valid under {old}");
                    assert!(by_new.validate(example).is_err(), "{about}: {example} is valid under {new}");
                }
                let judge = |document: &Value| {
                    let verdicts = [by_old.validate(document).is_ok(), by_new.validate(document).is_ok()];
                    assert!(
                        !violations.is_empty() || verdicts != [true, false],
                        "{about}: {old} and {new} are refuted by {document}"
                    );
                    json!([document, verdicts])
                };
                let judged: Vec<Value> = documents.iter().map(judge).collect();
                let compatible = violations.is_empty();
                if !ours_alone {
                    cases.push(
                        json!({"seed": about, "old": old, "new": new, "compatible": compatible, "documents": judged}),
                    );
                }
            }
        }
    }
    println!("{} pairs, {compatible} of all compatible", cases.len());
    assert!(compatible > 300, "{compatible}");
    if let Some(told) = judged_by_python(cases.into_iter()) {
        println!("{told}");
    }
}
