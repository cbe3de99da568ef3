//! The generated Rust compiles, takes every valid document, and gives it back.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{corpus, verdicts};

mod generated {
    include!("generated.rs.txt");
}

type RoundTrip = fn(&Value) -> Result<Value, serde_json::Error>;

fn through<T: DeserializeOwned + Serialize>(document: &Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(document.clone())?)
}

macro_rules! types {
    ($($topic:ident $version:ident $name:ident,)*) => {
        BTreeMap::from([$((
            format!("{}/{}", generated::$topic::TOPIC, generated::$topic::$version::VERSION),
            through::<generated::$topic::$version::$name> as RoundTrip,
        ),)*])
    };
}

fn types() -> BTreeMap<String, RoundTrip> {
    types! {
        anchors_all v1 AnchorsAll, anything_goes v1 AnythingGoes, arrays_all v1 ArraysAll,
        conditions_all v1 ConditionsAll, draft_nineteen v1 DraftNineteen, draft_seven v1 DraftSeven,
        enums_all v1 EnumsAll, forbidden_parts v1 ForbiddenParts, heartbeat_received v1 HeartbeatReceived,
        heartbeat_received v2 HeartbeatReceived, list_payload v1 ListPayload, merged_allof v1 MergedAllof,
        names_odd v1 NamesOdd, nothing_goes v1 NothingGoes, nullable_fields v1 NullableFields,
        numbers_all v1 NumbersAll, object v1 Object, orders v1 Orders, orders v2 Orders, orders_v2 v1 OrdersV2,
        problem v1 Problem, process_state v1 ProcessState, records_all v1 RecordsAll, recursive_tree v1 RecursiveTree,
        scalar_text v1 ScalarText, texts_all v1 TextsAll, topics v1 Topics, tuples_all v1 TuplesAll,
        type_fn v1 TypeFn, uncovered_all v1 UncoveredAll, unions_mixed v1 UnionsMixed, unions_tagged v1 UnionsTagged,
        untyped_object v1 UntypedObject,
    }
}

/// They are closed, so no property is left out on the way.
const WHOLE: [&str; 4] = ["process.state/1", "names.odd/1", "nullable.fields/1", "recursive.tree/1"];

#[test]
fn every_schema_of_the_corpus_is_tried() {
    let known = types();
    for source in corpus::all() {
        let name = format!("{}/{}", source.topic, source.version);
        assert!(known.contains_key(&name), "{name} is not in the list above");
    }
}

#[test]
fn every_valid_document_fits_its_type_and_comes_back() {
    let types = types();
    let mut tried = 0;
    for (name, documents) in verdicts::read().as_object().unwrap() {
        for document in documents["valid"].as_array().unwrap() {
            // `3.0` is an integer in JSON Schema and none in serde; the guide says so.
            if has_whole_float(document) {
                continue;
            }
            let back = types[name](document).unwrap_or_else(|error| panic!("{name} refuses {document}: {error}"));
            assert!(is_part(&back, document), "{name}: {document} came back as {back}");
            if WHOLE.contains(&name.as_str()) {
                let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
                assert_eq!(keys(document), keys(&back), "{name}: {document} came back as {back}");
            }
            tried += 1;
        }
    }
    assert!(tried > 300, "only {tried} documents were tried");
}

#[test]
fn types_refuse_what_they_can_express() {
    let types = types();
    let beat = json!({"pid": 1, "name": "a", "host": "b", "cpu_pct": 0.5, "mem_mib": 1});
    let refuses = |name: &str, document: &Value| types[name](document).is_err();
    assert!(!refuses("heartbeat.received/2", &beat));
    for (field, value) in [("pid", json!("1")), ("pid", json!(-1)), ("name", Value::Null), ("sid", Value::Null)] {
        let mut wrong = beat.clone();
        wrong[field] = value;
        assert!(refuses("heartbeat.received/2", &wrong), "{wrong}");
    }
    for field in ["pid", "mem_mib"] {
        let mut wrong = beat.clone();
        wrong.as_object_mut().unwrap().remove(field);
        assert!(refuses("heartbeat.received/2", &wrong), "{wrong}");
    }
    // Null is not absent, and absent is not null.
    assert!(!refuses("nullable.fields/1", &json!({"required_nullable": null, "required_ref": null})));
    assert!(refuses("nullable.fields/1", &json!({"required_ref": null})));
    assert!(refuses("nullable.fields/1", &json!({"required_nullable": null})));
    assert!(refuses("nullable.fields/1", &json!({"required_nullable": null, "required_ref": null, "unknown": 1})));
    assert!(refuses("enums.all/1", &json!({"level": "medium"})));
    assert!(refuses("unions.tagged/1", &json!({"kind": "triangle", "side": 1})));
    assert!(refuses("nothing.goes/1", &json!(1)));
}

#[test]
fn constants_name_topic_version_and_schema() {
    use generated::heartbeat_received::{self, latest};
    assert_eq!((heartbeat_received::TOPIC, latest::VERSION), ("heartbeat.received", 2));
    let schema: Value = serde_json::from_str(latest::SCHEMA).unwrap();
    let source =
        corpus::all().into_iter().find(|source| source.topic.as_str() == "heartbeat.received" && source.is_latest);
    assert_eq!(schema, source.unwrap().schema);
}

/// Whether the second value has everything that the first has.
fn is_part(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.iter().all(|(name, value)| other.get(name).is_some_and(|other| is_part(value, other)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_part(one, other))
        }
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().unwrap().fract() == 0.0,
        Value::Array(items) => items.iter().any(has_whole_float),
        Value::Object(map) => map.values().any(has_whole_float),
        _ => false,
    }
}
