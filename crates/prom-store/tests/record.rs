//! A record reproduces the event that was encoded, and is refused if one bit of it has changed.

use bytes::Bytes;
use prom_store::record::{HEADER_BYTES, RecordFault};
use prom_store::{EncodedEvent, LogName, Record, RecordParts};
use prom_types::{Event, EventId, Headers, Json, NewEvent, TopicName};
use proptest::prelude::*;
use serde_json::Value;

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        text(20).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(text(8), inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Any text, often with characters that JSON must escape.
fn text(longest: usize) -> impl Strategy<Value = String> {
    let letter =
        prop_oneof![any::<char>(), prop::sample::select(vec!['"', '\\', '\n', '\0', '\u{7f}', 'ä', '😀', 'a'])];
    prop::collection::vec(letter, 0..longest).prop_map(|letters| letters.into_iter().collect())
}

fn headers() -> impl Strategy<Value = Headers> {
    let value = "[ -~äß😀\t]{0,20}";
    prop::collection::btree_map("x-[a-z0-9-]{1,12}|content-type|traceparent", value, 0..5)
        .prop_map(|map| Headers::try_from(map).expect("valid headers"))
}

fn event_id() -> impl Strategy<Value = EventId> {
    any::<[u8; 16]>().prop_filter("nil is no id", |bytes| *bytes != [0; 16]).prop_map(EventId::from_bytes)
}

prop_compose! {
    fn new_event()(
        payload in json(),
        exact in any::<bool>(),
        key in prop::option::of(text(30)),
        headers in headers(),
        tags in prop::collection::vec(text(10), 0..4),
        caused_by in prop::collection::vec(event_id(), 0..3),
        sid in prop::option::of(text(10)),
    ) -> NewEvent {
        NewEvent { exact, key, headers, tags, caused_by, sid, ..NewEvent::new(log().topic, payload) }
    }
}

fn log() -> LogName {
    LogName::new(TopicName::parse("orders.placed.v2").expect("a valid topic"), 17)
}

fn encoded(event: &NewEvent, id: EventId, ts: i64, offset: u64, stored_ts: i64) -> Vec<u8> {
    let encoded = EncodedEvent::encode(event, id, ts).expect("an event within the limits");
    assert_eq!((encoded.id(), encoded.key()), (id, event.key.as_deref()));
    assert_eq!(encoded.is_tombstone(), event.payload.is_null());
    let mut bytes = Vec::new();
    encoded.write_at(offset, stored_ts, &mut bytes);
    assert_eq!(bytes.len(), encoded.len());
    bytes
}

proptest! {
    #[test]
    fn an_event_comes_back_as_it_was_encoded(
        event in new_event(), id in event_id(), ts in any::<i64>(), offset in any::<u64>(), stored_ts in any::<i64>(),
    ) {
        let bytes = encoded(&event, id, ts, offset, stored_ts);
        let record = Record::parse(&Bytes::from(bytes.clone())).unwrap();
        prop_assert_eq!(record.as_bytes(), &bytes);
        prop_assert_eq!((record.id(), record.ts(), record.offset(), record.stored_ts()), (id, ts, offset, stored_ts));
        prop_assert_eq!(record.key(), event.key.as_deref());
        prop_assert_eq!((record.is_exact(), record.is_tombstone()), (event.exact, event.payload.is_null()));
        prop_assert_eq!(record.payload(), event.payload.clone());
        let expected = Event {
            id, ts, stored_ts, offset,
            topic: log().topic,
            partition: log().partition,
            key: event.key,
            sid: event.sid,
            headers: event.headers,
            caused_by: event.caused_by,
            tags: event.tags,
            payload: event.payload,
        };
        prop_assert_eq!(record.to_event(&log()).unwrap(), expected);
    }

    #[test]
    fn the_text_of_a_record_is_the_text_of_its_event(event in new_event(), id in event_id(), ts in any::<i64>()) {
        let record = Record::parse(&encoded(&event, id, ts, 3, 4).into()).unwrap();
        let mut written = b"before ".to_vec();
        record.write_json(&log(), &mut written);
        let written = std::str::from_utf8(&written).unwrap().strip_prefix("before ").unwrap();
        let _valid: Value = serde_json::from_str(written).unwrap();
        prop_assert_eq!(written, serde_json::to_string(&record.to_event(&log()).unwrap()).unwrap());
    }

    #[test]
    fn records_are_found_one_after_the_other(events in prop::collection::vec((new_event(), event_id()), 1..6)) {
        let mut all = b"".to_vec();
        for (offset, (event, id)) in (0..).zip(&events) {
            EncodedEvent::encode(event, *id, 0).unwrap().write_at(offset, 0, &mut all);
        }
        let mut rest = Bytes::from(all);
        for (offset, (_, id)) in (0..).zip(&events) {
            let record = Record::parse(&rest).unwrap();
            prop_assert_eq!((record.offset(), record.id()), (offset, *id));
            prop_assert_eq!(&Record::trusted(&rest).unwrap(), &record);
            rest = rest.slice(record.len()..);
        }
        prop_assert!(rest.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_record_cut_anywhere_is_refused(event in new_event(), id in event_id()) {
        let bytes = Bytes::from(encoded(&event, id, 1, 2, 3));
        for length in 0..bytes.len() {
            prop_assert_eq!(Record::parse(&bytes.slice(..length)), Err(RecordFault::Short));
            prop_assert_eq!(Record::trusted(&bytes.slice(..length)), Err(RecordFault::Short));
        }
    }

    #[test]
    fn a_record_with_any_bit_flipped_is_refused(event in new_event(), id in event_id(), more in 0..300usize) {
        // The following bytes in a log must not help a wrong length to pass.
        let mut bytes = encoded(&event, id, 1, 2, 3);
        let length = bytes.len();
        bytes.resize(length + more, 0x5a);
        for bit in 0..8 * length {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let damaged = Bytes::copy_from_slice(&bytes);
            prop_assert!(Record::parse(&damaged).is_err(), "bit {} of {} bytes", bit, length);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn no_bytes_make_parsing_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Record::parse(&Bytes::from(bytes)).is_err());
    }
}

#[test]
fn zeroed_space_is_no_record() {
    assert_eq!(Record::parse(&Bytes::from(vec![0; 4096])), Err(RecordFault::Length));
    assert_eq!(Record::parse(&Bytes::from(vec![0; HEADER_BYTES - 1])), Err(RecordFault::Short));
}

#[test]
fn an_empty_key_is_a_key() {
    let mut event = NewEvent::new(log().topic, Json::NULL);
    let id = EventId::derived("a");
    let keyless = Record::parse(&encoded(&event, id, 0, 0, 0).into()).unwrap();
    event.key = Some(String::new());
    let keyed = Record::parse(&encoded(&event, id, 0, 0, 0).into()).unwrap();
    assert_eq!((keyless.key(), keyed.key()), (None, Some("")));
}

#[test]
fn a_record_is_made_again_from_its_parts() {
    for key in [None, Some(""), Some("kunde \"ä\"")] {
        for payload in ["null", "7", r#"{"a": 1.50}"#] {
            let mut event = NewEvent::new(TopicName::parse("orders").unwrap(), Json::parse(payload).unwrap());
            event.key = key.map(str::to_owned);
            event.tags = vec!["first".to_owned()];
            event.exact = payload == "7";
            let mut bytes = Vec::new();
            EncodedEvent::encode(&event, EventId::derived("a"), -5).unwrap().write_at(7, 8, &mut bytes);
            let record = Record::parse(&bytes.into()).unwrap();
            let payload = record.payload();
            let parts = RecordParts {
                offset: record.offset(),
                stored_ts: record.stored_ts(),
                ts: record.ts(),
                id: record.id(),
                key: record.key(),
                meta: record.meta(),
                payload: payload.as_bytes(),
                exact: record.is_exact(),
            };
            let mut again = Vec::new();
            parts.write(&mut again).unwrap();
            assert_eq!(Record::parse(&again.into()).unwrap(), record);
        }
    }
}
