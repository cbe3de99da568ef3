//! Records as they lie in memory and on disk.
//!
//! Promises held: nothing panics, also where the checksum is right and the rest is not; what was accepted is read again
//! as the same; what can be read as an event means the same after it was encoded again.

use bytes::Bytes;
use prom_store::record::{PREFIX_BYTES, frame_length};
use prom_store::{EncodedEvent, LogName, Record};
use prom_types::{Event, EventId, Json, NewEvent, TopicName};

use crate::drive::Target;

pub const TARGET: Target = Target { name: "records", run, seeds, words: || WORDS.map(<[u8]>::to_vec).into() };

const WORDS: [&[u8]; 12] = [
    b"\"headers\":{\"x-a\":\"b\"},",
    b"\"tags\":[\"t\"],",
    b"\"sid\":\"s\",",
    b"\"caused_by\":[],",
    b"\"payload\":1,",
    b"\"id\":7,",
    b"null",
    b"{\"a\":[]}",
    b"\xff",
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b",",
];

fn seeds() -> Vec<Vec<u8>> {
    let topic = TopicName::parse("a").unwrap();
    let plain = NewEvent::new(topic.clone(), serde_json::json!({"n": 1}));
    let tombstone = NewEvent { key: Some("k".to_owned()), ..NewEvent::new(topic.clone(), Json::NULL) };
    let mut full = NewEvent::new(topic, serde_json::json!([1, "é", null]));
    full.key = Some("a \"key\"".to_owned());
    full.sid = Some("boot".to_owned());
    full.tags = vec!["one".to_owned(), "two".to_owned()];
    full.caused_by = vec![EventId::derived("cause")];
    full.exact = true;
    full.headers.insert("x-trace", "abc").unwrap();
    let mut seeds: Vec<Vec<u8>> = [plain, tombstone, full].iter().map(|event| encoded(event, 7)).collect();
    seeds.push(seeds.concat());
    seeds
}

fn encoded(event: &NewEvent, offset: u64) -> Vec<u8> {
    let id = event.id.unwrap_or_else(|| EventId::derived("seed"));
    let mut out = Vec::new();
    EncodedEvent::encode(event, id, event.ts.unwrap_or(5)).unwrap().write_at(offset, 9, &mut out);
    out
}

pub fn run(input: &[u8]) {
    walk(Bytes::copy_from_slice(input));
    // A checksum keeps almost everything out: put right, it lets the rest be seen.
    let mut repaired = input.to_vec();
    repair(&mut repaired);
    walk(repaired.into());
}

/// Record after record, as readers of a segment do.
fn walk(mut bytes: Bytes) {
    while let Ok(record) = Record::parse(&bytes) {
        assert!(record.len() <= bytes.len() && Ok(record.len()) == frame_length(&bytes));
        assert_eq!(Record::parse(&Bytes::copy_from_slice(record.as_bytes())), Ok(record.clone()));
        look_at(&record);
        bytes = bytes.slice(record.len()..);
    }
    if let Ok(record) = Record::trusted(&bytes) {
        look_at(&record);
    }
}

fn look_at(record: &Record) {
    let log = LogName::new(TopicName::parse("a.b").unwrap(), 3);
    drop((record.key(), record.payload(), record.is_exact(), record.is_tombstone(), format!("{record:?}")));
    assert!(record.meta().len() < record.len());
    let mut json = Vec::new();
    record.write_json(&log, &mut json);
    if let Ok(event) = record.to_event(&log) {
        let again = Record::parse(&Bytes::from(encode_again(&event))).unwrap();
        assert_eq!(again.to_event(&log).unwrap(), event);
    }
}

fn encode_again(event: &Event) -> Vec<u8> {
    let event = event.clone();
    let new = NewEvent {
        topic: event.topic,
        payload: event.payload,
        id: Some(event.id),
        dual_write: false,
        expect: None,
        exact: false,
        ts: Some(event.ts),
        key: event.key,
        headers: event.headers,
        tags: event.tags,
        caused_by: event.caused_by,
        sid: event.sid,
        partition: None,
    };
    let mut out = Vec::new();
    EncodedEvent::encode(&new, event.id, event.ts).unwrap().write_at(event.offset, event.stored_ts, &mut out);
    out
}

/// Gives every record whose lengths fit the checksum of what it holds.
fn repair(bytes: &mut [u8]) {
    let mut at = 0;
    while let Ok(length) = frame_length(&bytes[at..]) {
        let record = &mut bytes[at..at + length];
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&record[24..]), &record[PREFIX_BYTES..24]);
        record[4..8].copy_from_slice(&checksum.to_le_bytes());
        at += length;
    }
}
