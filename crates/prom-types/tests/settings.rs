//! The settings that several crates share are stored and sent in one form.

use prom_types::{
    Backoff, Compaction, EventId, Gap, GapReason, Mode, Order, Position, Retention, SnapshotSettings, TopicName,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn check<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: T, json: &str) {
    assert_eq!(serde_json::to_string(&value).expect(json), json);
    assert_eq!(serde_json::from_str::<T>(json).expect(json), value);
}

#[test]
fn settings_have_the_form_that_is_stored() {
    let id = "0190163d-8694-739b-aea5-966c26f8ad91";
    check(Position::Latest, r#""latest""#);
    check(Position::StoredAt(7), r#"{"stored_at":7}"#);
    check(Position::AfterId(EventId::parse(id).unwrap()), &format!(r#"{{"after_id":"{id}"}}"#));
    check(Position::Offset(7), r#"{"offset":7}"#);
    check(Backoff::default(), r#"{"first_ms":200,"max_ms":30000}"#);
    check(Retention { age_ms: Some(1), size_bytes: None }, r#"{"age_ms":1}"#);
    check(Compaction { tombstone_grace_ms: 5, min_age_ms: 0 }, r#"{"tombstone_grace_ms":5}"#);
    check(Compaction { tombstone_grace_ms: 5, min_age_ms: 7 }, r#"{"tombstone_grace_ms":5,"min_age_ms":7}"#);
    check(SnapshotSettings { every_ms: 9000 }, r#"{"every_ms":9000}"#);
    check(Mode::Partitioned, r#""partitioned""#);
    check(Order::Key, r#""key""#);
}

#[test]
fn a_gap_says_why_in_words() {
    let gap = |reason| Gap { topic: TopicName::parse("a.b").unwrap(), partition: 1, from: 2, to: 5, reason };
    let json = |reason| format!(r#"{{"event_topic":"a.b","partition":1,"from":2,"to":5,"reason":"{reason}"}}"#);
    check(gap(GapReason::Retention), &json("retention removed them before they were read"));
    check(gap(GapReason::Damage("log 3, byte 17".to_owned())), &json("log 3, byte 17"));
}
