//! A stored event from its own JSON text, as snapshots keep it.
//!
//! Promises: the event writes the same text again, byte by byte. Text that no hub wrote is no event.

use prom_store::{LogName, Record, RecordParts};
use prom_types::{EpochMs, EventId, Offset, TopicName};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::StoredEvent;
use crate::event::EventOrigin;

const PAYLOAD_MEMBER: &str = "\"payload\":";

#[derive(Deserialize)]
struct WholeEvent<'t> {
    id: EventId,
    ts: EpochMs,
    stored_ts: EpochMs,
    topic: TopicName,
    partition: u32,
    offset: Offset,
    key: Option<String>,
    #[serde(borrow)]
    payload: &'t RawValue,
}

impl StoredEvent {
    /// The event that [`StoredEvent::write_json`] wrote; `None` if the text is not of that form.
    pub fn from_text(text: &str) -> Option<Self> {
        let whole: WholeEvent<'_> = serde_json::from_str(text).ok()?;
        let parts = RecordParts {
            offset: whole.offset,
            stored_ts: whole.stored_ts,
            ts: whole.ts,
            id: whole.id,
            key: whole.key.as_deref(),
            meta: b"",
            payload: b"",
            exact: false,
        };
        let log = LogName::new(whole.topic, whole.partition);
        // Without headers and payload it is the beginning and the end of the text.
        let mut frame = Vec::new();
        record(&parts)?.write_json(&log, &mut frame);
        let begin = std::str::from_utf8(&frame).ok()?.strip_suffix('}')?.strip_suffix(PAYLOAD_MEMBER)?;
        let payload = whole.payload.get();
        let meta = text.strip_prefix(begin)?.strip_suffix('}')?.strip_suffix(payload)?.strip_suffix(PAYLOAD_MEMBER)?;
        let record = record(&RecordParts { meta: meta.as_bytes(), payload: payload.as_bytes(), ..parts })?;
        Some(Self::new(EventOrigin::plain(log), record))
    }
}

fn record(parts: &RecordParts<'_>) -> Option<Record> {
    let mut bytes = Vec::new();
    parts.write(&mut bytes).ok()?;
    Record::trusted(&bytes.into()).ok()
}

#[cfg(test)]
mod tests {
    use prom_store::EncodedEvent;
    use prom_types::NewEvent;
    use serde_json::json;

    use super::*;

    fn stored(event: &NewEvent) -> String {
        let mut bytes = Vec::new();
        EncodedEvent::encode(event, EventId::from_bytes([7; 16]), 1_000).unwrap().write_at(41, 2_000, &mut bytes);
        let record = Record::trusted(&bytes.into()).unwrap();
        let mut text = Vec::new();
        StoredEvent::new(EventOrigin::plain(LogName::new(event.topic.clone(), 3)), record).write_json(&mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn an_event_is_the_same_text_again() {
        let topic = TopicName::parse("orders.placed").unwrap();
        let plain = NewEvent::new(topic.clone(), json!({"payload": {"payload": 1.50}, "a": "\"payload\":1}"}));
        let mut rich = NewEvent { key: Some("a\"b/ü\n".to_owned()), ..plain.clone() };
        rich.headers.insert("x-schema-version", "1").unwrap();
        rich.headers.insert("x-payload", "{\"payload\":2}").unwrap();
        rich.tags = vec!["t".to_owned()];
        rich.caused_by = vec![EventId::from_bytes([9; 16])];
        let deleted = NewEvent { payload: json!(null).into(), ..rich.clone() };
        for event in [plain, rich, deleted] {
            let text = stored(&event);
            let again = StoredEvent::from_text(&text).unwrap();
            let mut written = Vec::new();
            again.write_json(&mut written);
            assert_eq!(String::from_utf8(written).unwrap(), text);
            assert_eq!((again.offset(), again.partition(), again.stored_ts()), (41, 3, 2_000));
            assert_eq!(again.key(), event.key.as_deref());
            assert_eq!(again.headers(), event.headers);
            assert_eq!(again.is_tombstone(), event.payload.is_null());
        }
    }

    #[test]
    fn text_that_no_hub_wrote_is_no_event() {
        let topic = TopicName::parse("orders.placed").unwrap();
        let text = stored(&NewEvent::new(topic, json!({"a": 1})));
        assert!(StoredEvent::from_text(&text).is_some());
        for odd in ["", "{}", "null", &text[1..], &format!(" {text}"), &text.replace("\"ts\"", "\"ts\" ")] {
            assert!(StoredEvent::from_text(odd).is_none(), "{odd}");
        }
        assert!(StoredEvent::from_text(&text.replace(",\"payload\":", ",\"payload\": ")).is_none());
    }
}
