//! What goes in comes out byte for byte.

use bytes::Bytes;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Bson, Document};
use prom_store::{EncodedEvent, LogName, Record};
use prom_types::{EventId, Json, NewEvent, TopicName};
use proptest::prelude::*;

use super::{BatchPlan, DocumentValue, StoredBatch, document_value};

fn log() -> LogName {
    LogName::new(TopicName::parse("orders").unwrap(), 3)
}

fn record(offset: u64, stored_ts: i64, change: impl FnOnce(&mut NewEvent)) -> Record {
    let mut event = NewEvent::new(log().topic, Json::NULL);
    change(&mut event);
    let mut bytes = Vec::new();
    let encoded = EncodedEvent::encode(&event, EventId::derived(&offset.to_string()), -5).unwrap();
    encoded.write_at(offset, stored_ts, &mut bytes);
    Record::parse(&Bytes::from(bytes)).unwrap()
}

fn with_payload(text: &str) -> Record {
    let payload = Json::parse(text.to_owned()).unwrap();
    record(7, 9, |event| event.payload = payload)
}

fn document(records: &[Record]) -> mongodb::bson::RawDocumentBuf {
    let plan = BatchPlan {
        log: &log(),
        base: 7,
        next: 7 + records.len() as u64,
        records,
        cleaned: &[],
        last_ts: 9,
        total: 100,
        start: 0,
        by: ObjectId::new(),
        attempt: 1,
        at: None,
        end: false,
    };
    plan.document().unwrap()
}

fn events(records: &[Record]) -> Vec<Document> {
    let document = Document::try_from(&document(records)).unwrap();
    let events = document.get_array("events").unwrap();
    events.iter().map(|event| event.as_document().unwrap().clone()).collect()
}

fn comes_back(records: &[Record]) {
    let batch = StoredBatch::read(&document(records)).unwrap();
    assert_eq!(batch.records, records);
    for record in &batch.records {
        assert!(prom_store::record::is_sound(record.as_bytes()));
    }
}

#[test]
fn what_a_usual_client_sends_is_stored_once_and_comes_back() {
    for text in [
        "null",
        "true",
        "0",
        "-7",
        "2147483648",
        "9223372036854775807",
        "1.5",
        "-0.25",
        r#""""#,
        r#""a\n\"\\\u0001ü😀""#,
        "[]",
        "{}",
        r#"{"a":[1,[2,{"b":null}]],"":{"$set":1,"x.y":[]}}"#,
    ] {
        let record = with_payload(text);
        let event = events(std::slice::from_ref(&record)).remove(0);
        assert!(!event.contains_key("raw"), "{text}");
        comes_back(&[record]);
    }
}

#[test]
fn text_with_another_spelling_is_stored_next_to_its_queryable_form() {
    for text in [
        r#"{"a": 1}"#,
        "[1, 2]",
        "1.50",
        "1E5",
        "-0",
        "18446744073709551615",
        "1e400",
        "-1E+999999",
        r#""\/""#,
        r#""\u00e4""#,
        r#""\u000A""#,
        r#""\u001F""#,
        r#"{"a":1,"a":2}"#,
    ] {
        let record = with_payload(text);
        let event = events(std::slice::from_ref(&record)).remove(0);
        assert_eq!(event.get_str("raw").unwrap(), text);
        assert!(event.contains_key("payload"), "{text}");
        comes_back(&[record]);
    }
}

#[test]
fn a_number_that_no_type_holds_is_infinite_for_queries_and_comes_back_digit_by_digit() {
    let digits = "9".repeat(3000);
    for text in ["1e400", &digits] {
        let record = with_payload(text);
        let event = events(std::slice::from_ref(&record)).remove(0);
        assert_eq!(event.get("payload"), Some(&Bson::Double(f64::INFINITY)), "{text}");
        comes_back(&[record]);
    }
}

#[test]
fn what_bson_cannot_hold_is_stored_as_text_only() {
    let deep = format!("{}{}", "[".repeat(110), "]".repeat(110));
    for text in [r#"{"a\u0000b":1}"#, &deep] {
        let record = with_payload(text);
        let event = events(std::slice::from_ref(&record)).remove(0);
        assert!(event.contains_key("raw") && !event.contains_key("payload"), "{text}");
        comes_back(&[record]);
    }
}

#[test]
fn a_batch_fits_into_a_document_whatever_its_events_become_as_bson() {
    let short = with_payload("7");
    let ones = format!("[1{}]", ",1".repeat((1 << 19) - 2));
    let spaced = format!("[1{}]", " ,1".repeat((1 << 20) / 3 - 2));
    let empty = format!("[[]{}]", ",[]".repeat((1 << 20) / 3 - 2));
    for text in [ones, spaced, empty] {
        let records: Vec<_> = std::iter::repeat_n(with_payload(&text), 4).chain([short.clone()]).collect();
        let (alone, together) = (document(&records[..1]), document(&records));
        assert!(together.as_bytes().len() <= crate::limits::BATCH_DOCUMENT_BYTES);
        assert!(field(&alone, 0, "payload"), "alone it can be queried");
        assert!(field(&together, 0, "raw") && !field(&together, 0, "payload"));
        assert!(field(&together, 4, "payload"), "only what grows is stored as text");
        assert_eq!(StoredBatch::read(&together).unwrap().records[0].payload(), records[0].payload());
    }
}

fn field(batch: &mongodb::bson::RawDocument, event: usize, name: &str) -> bool {
    let event = batch.get_array("events").unwrap().get(event).unwrap().unwrap();
    event.as_document().unwrap().get(name).unwrap().is_some()
}

#[test]
fn a_repeated_name_is_found_among_many() {
    let mut members: Vec<String> = (0..40).map(|n| format!("\"n{n}\":{n}")).collect();
    comes_back(&[with_payload(&format!("{{{}}}", members.join(",")))]);
    members.push("\"n3\":0".to_owned());
    let record = with_payload(&format!("{{{}}}", members.join(",")));
    assert!(events(std::slice::from_ref(&record))[0].contains_key("raw"));
    comes_back(&[record]);
}

#[test]
fn everything_around_the_payload_comes_back() {
    let whole = record(7, 9, |event| {
        event.key = Some("kunde \"ä\"".to_owned());
        event.headers.insert("x-origin", "shop \"ä\"").unwrap();
        event.tags = vec!["first".to_owned(), "second".to_owned()];
        event.caused_by = vec![EventId::derived("cause")];
        event.sid = Some("boot-1".to_owned());
        event.exact = true;
    });
    let event = events(std::slice::from_ref(&whole)).remove(0);
    assert_eq!(event.get_document("headers").unwrap().get_str("x-origin").unwrap(), "shop \"ä\"");
    assert_eq!(event.get_array("tags").unwrap().len(), 2);
    assert!(!event.contains_key("raw_meta") && !event.contains_key("offset") && !event.contains_key("stored_ts"));
    comes_back(&[whole]);
}

#[test]
fn holes_and_different_times_come_back() {
    let records = [record(7, 9, |_| {}), record(9, 9, |_| {}), record(12, 30, |_| {})];
    let seen = events(&records);
    assert_eq!(seen[1].get("offset"), Some(&Bson::Int64(9)));
    assert_eq!(seen[2].get("stored_ts"), Some(&Bson::Int64(30)));
    comes_back(&records);
}

#[test]
fn a_document_value_is_queryable_or_bytes_and_comes_back() {
    for (value, is_json) in
        [(&b"{\"a\":1}"[..], true), (b"7", true), (b"", false), (b"{ }", false), (b"\xff", false), (b"one", false)]
    {
        let stored = match document_value(value) {
            DocumentValue::Json(stored) => mongodb::bson::doc! { "value": stored },
            DocumentValue::Bytes(stored) => mongodb::bson::doc! { "bytes": stored },
        };
        assert_eq!(stored.contains_key("value"), is_json, "{value:?}");
        let raw = mongodb::bson::RawDocumentBuf::try_from(&stored).unwrap();
        assert_eq!(DocumentValue::read(&raw).unwrap(), value);
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_comes_back(value in json(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&value).unwrap()
        } else {
            value.to_string()
        };
        comes_back(&[with_payload(&text)]);
    }

    #[test]
    fn no_text_breaks_the_pass(text in any::<String>()) {
        let mut out = vec![1, 2, 3];
        if super::from_json::append_value(&mut out, "payload", text.as_bytes()).is_err() {
            prop_assert_eq!(out, [1, 2, 3]);
        }
    }
}
