//! Arbitrary parts of frames: texts that need escapes, ids, events with everything or nothing.

use prom_types::{EventId, Expectation, Headers, Json, NewEvent, TopicName};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

/// Texts as people send them, and texts that only JSON escapes can carry.
pub fn text() -> impl Strategy<Value = String> {
    let nasty = "[\\x00-\\x1f\"\\\\/\u{7f}\u{2028}é😀a]{0,12}";
    prop_oneof!["[a-z.]{0,8}", nasty, any::<String>()]
}

pub fn id() -> impl Strategy<Value = EventId> {
    // The nil UUID is no id.
    any::<[u8; 16]>().prop_filter("nil", |bytes| *bytes != [0; 16]).prop_map(EventId::from_bytes)
}

pub fn topic() -> impl Strategy<Value = TopicName> {
    "[a-z0-9]{1,5}(\\.[a-z0-9]{1,5}){0,3}".prop_map(|name| TopicName::parse(&name).unwrap())
}

/// JSON in whatever spelling its author chose.
pub fn payload() -> impl Strategy<Value = Json> {
    let spellings =
        ["null", "0", "-0.0", "1e400", "12345678901234567890123456789", "\"\\u00e9\\ud83d\\ude00\"", "[ 1 , [] ]"];
    let spelled = proptest::sample::select(spellings.to_vec()).prop_map(|json| Json::parse(json).unwrap());
    let told =
        (text(), any::<i64>()).prop_map(|(text, number)| Json::from(serde_json::json!({ text: [number, null] })));
    prop_oneof![spelled, told]
}

fn headers() -> impl Strategy<Value = Headers> {
    vec(("x-[a-z0-9]{1,6}", "[ -~]{0,10}"), 0..3).prop_map(|pairs| {
        let mut headers = Headers::default();
        pairs.into_iter().for_each(|(name, value)| headers.insert(&name, value).unwrap());
        headers
    })
}

pub fn expectation() -> impl Strategy<Value = Expectation> {
    prop_oneof![any::<u64>().prop_map(Expectation::Offset), of(any::<u64>()).prop_map(Expectation::KeyOffset)]
}

pub fn event() -> impl Strategy<Value = NewEvent> {
    let flags = (any::<bool>(), any::<bool>(), of(expectation()));
    let identity = (topic(), payload(), of(id()), flags, of(any::<i64>()));
    let rest = (of(text()), headers(), vec(text(), 0..3), vec(id(), 0..3), of(text()), of(any::<u32>()));
    (identity, rest).prop_map(
        |((topic, payload, id, (exact, dual_write, expect), ts), (key, headers, tags, caused_by, sid, partition))| {
            NewEvent {
                topic,
                payload,
                id,
                exact,
                dual_write,
                expect,
                ts,
                key,
                headers,
                tags,
                caused_by,
                sid,
                partition,
            }
        },
    )
}
