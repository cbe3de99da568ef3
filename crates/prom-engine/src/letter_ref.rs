//! A dead letter as it is named for giving it back, and the original event that it holds.

use std::borrow::Cow;

use bytes::Bytes;
use prom_store::{LogName, Record, RecordParts};
use prom_types::{EpochMs, EventId, GroupName, Offset};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Error, StoredEvent};

/// A dead letter: where it lies, and the event and group that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetterRef {
    /// Its id.
    pub letter: EventId,
    /// Where it lies.
    pub place: LetterPlace,
    /// The group that gave up on the event.
    pub group: GroupName,
    /// The event's partition, in its topic.
    pub partition: u32,
    /// The event's offset in it.
    pub offset: Offset,
    /// The event's id.
    pub event: EventId,
    /// The event's key.
    pub key: Option<String>,
    /// How often the event had been given back when the letter was written.
    pub given_back: u32,
}

/// Where a letter lies in `dlq.<topic>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LetterPlace {
    /// The partition.
    pub partition: u32,
    /// The offset in it.
    pub offset: Offset,
}

/// What is read of a letter's payload.
#[derive(Deserialize)]
struct LetterPayload<'a> {
    group: GroupName,
    #[serde(borrow)]
    original: OriginalEvent<'a>,
    #[serde(default)]
    given_back: u32,
}

/// The event in a letter. Its texts stay as they were written.
#[derive(Deserialize)]
struct OriginalEvent<'a> {
    id: EventId,
    ts: EpochMs,
    stored_ts: EpochMs,
    partition: u32,
    offset: Offset,
    #[serde(borrow, default)]
    key: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    sid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    headers: Option<&'a RawValue>,
    #[serde(borrow, default)]
    caused_by: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tags: Option<&'a RawValue>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

impl LetterRef {
    /// Reads an event of `dlq.<topic>`.
    pub fn of(event: &StoredEvent) -> Result<Self, Error> {
        Self::read(&event.origin.log, &event.record)
    }

    /// Reads a record of `dlq.<topic>`.
    pub fn read(letters: &LogName, record: &Record) -> Result<Self, Error> {
        let place = LetterPlace { partition: letters.partition, offset: record.offset() };
        let payload = record.payload();
        let LetterPayload { group, original, given_back } = parse(letters, record, payload.as_bytes())?;
        Ok(Self {
            letter: record.id(),
            place,
            group,
            partition: original.partition,
            offset: original.offset,
            event: original.id,
            key: original.key.map(Cow::into_owned),
            given_back,
        })
    }
}

/// The original of a letter, as it was in its log.
pub(crate) fn original(letters: &LogName, record: &Record) -> Result<Record, Error> {
    let payload = record.payload();
    let LetterPayload { original, .. } = parse(letters, record, payload.as_bytes())?;
    let mut meta = Vec::new();
    let members = [
        ("sid", original.sid),
        ("headers", original.headers),
        ("caused_by", original.caused_by),
        ("tags", original.tags),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            meta.extend_from_slice(format!("\"{name}\":{value},").as_bytes());
        }
    }
    let parts = RecordParts {
        offset: original.offset,
        stored_ts: original.stored_ts,
        ts: original.ts,
        id: original.id,
        key: original.key.as_deref(),
        meta: &meta,
        payload: original.payload.get().as_bytes(),
        exact: false,
    };
    let mut bytes = Vec::new();
    parts.write(&mut bytes)?;
    Record::trusted(&Bytes::from(bytes)).map_err(|fault| not_a_letter(letters, record, fault.to_string()))
}

fn parse<'a>(letters: &LogName, record: &Record, payload: &'a [u8]) -> Result<LetterPayload<'a>, Error> {
    serde_json::from_slice(payload).map_err(|error| not_a_letter(letters, record, error.to_string()))
}

fn not_a_letter(letters: &LogName, record: &Record, reason: String) -> Error {
    Error::NotALetter { topic: letters.topic.clone(), partition: letters.partition, offset: record.offset(), reason }
}

#[cfg(test)]
mod tests {
    use prom_store::{CursorName, EncodedEvent};
    use prom_types::{Headers, Json, NewEvent, TopicName};

    use super::*;
    use crate::dead_letter::{self, Letter};

    #[test]
    fn the_original_of_a_letter_is_the_event_to_the_byte() {
        let log = LogName::new(TopicName::parse("orders").unwrap(), 3);
        let mut headers = Headers::default();
        headers.insert("x-a", "b \\ c").unwrap();
        let event = NewEvent {
            key: Some("k \"quoted\" ü".to_owned()),
            headers,
            tags: vec!["t".to_owned()],
            sid: Some("s".to_owned()),
            caused_by: vec![EventId::derived("cause")],
            ..NewEvent::new(log.topic.clone(), Json::parse(r#"{"n": 12345678901234567890.10, "s":"ü"}"#).unwrap())
        };
        let mut bytes = Vec::new();
        EncodedEvent::encode(&event, EventId::derived("event"), 17).unwrap().write_at(42, 99, &mut bytes);
        let record = Record::parse(&bytes.into()).unwrap();

        let cursor = CursorName::new(log.clone(), GroupName::parse("g").unwrap());
        let letter = Letter { record: record.clone(), reason: "no".to_owned(), attempts: 5, given_back: 2 };
        let letters = LogName::new(TopicName::parse("dlq.orders").unwrap(), 1);
        let written = dead_letter::event(&cursor, &letter, letters.topic.clone(), 100);
        let mut bytes = Vec::new();
        EncodedEvent::encode(&written, written.id.unwrap(), 100).unwrap().write_at(7, 101, &mut bytes);
        let stored = Record::parse(&bytes.into()).unwrap();

        assert_eq!(original(&letters, &stored).unwrap().as_bytes(), record.as_bytes());
        let named = LetterRef::read(&letters, &stored).unwrap();
        assert_eq!((named.partition, named.offset, named.given_back), (3, 42, 2));
        assert_eq!((named.place, named.event), (LetterPlace { partition: 1, offset: 7 }, record.id()));
        assert_eq!(named.key.as_deref(), record.key());
        assert!(LetterRef::read(&log, &record).unwrap_err().to_string().contains("no dead letter"));
    }
}
