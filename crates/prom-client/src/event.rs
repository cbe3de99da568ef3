//! An event as the hub sent it: its place is read, the rest is parsed when it is asked for.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use prom_protocol::frame::EventStart;
use prom_types::{EpochMs, Event, EventId, Headers, Json, Offset, TopicName};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::Error;

/// An event in its place. Cloning costs reference counts.
#[derive(Clone)]
pub struct StoredEvent {
    text: Bytes,
    /// Where the payload begins and ends.
    payload: (u32, u32),
    topic: TopicName,
    id: EventId,
    partition: u32,
    offset: Offset,
    ts: EpochMs,
    stored_ts: EpochMs,
    key: Option<Box<str>>,
}

#[derive(Deserialize)]
struct Fields<'a> {
    id: EventId,
    ts: EpochMs,
    stored_ts: EpochMs,
    #[serde(borrow)]
    topic: Cow<'a, str>,
    partition: u32,
    offset: Offset,
    #[serde(default)]
    key: Option<Box<str>>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(default)]
    headers: Headers,
}

impl StoredEvent {
    /// `last_topic` is that of the event before: most often it is the same.
    pub(crate) fn read(text: Bytes, last_topic: &mut Option<TopicName>) -> Result<Self, String> {
        let fields: Fields<'_> = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        let topic = topic_like(last_topic, &fields.topic)?;
        let payload_bytes = fields.payload.get().as_bytes();
        let begin = payload_bytes.as_ptr() as usize - text.as_ptr() as usize;
        let payload = place(begin, begin + payload_bytes.len())?;
        let Fields { id, ts, stored_ts, partition, offset, key, .. } = fields;
        Ok(Self { payload, topic, id, partition, offset, ts, stored_ts, key, text })
    }

    /// As [`StoredEvent::read`], where the beginning was read already and nothing is behind the payload.
    pub(crate) fn begun(text: Bytes, start: EventStart, last_topic: &mut Option<TopicName>) -> Result<Self, String> {
        let EventStart { id, ts, stored_ts, topic, partition, offset, key, payload_at } = start;
        let piece = |range: Range<usize>| std::str::from_utf8(&text[range]).map_err(|error| error.to_string());
        let topic = topic_like(last_topic, piece(topic)?)?;
        let key = key.map(piece).transpose()?.map(Box::from);
        // Behind it there is the closing brace alone.
        let payload = place(payload_at, text.len() - 1)?;
        Ok(Self { payload, topic, id, partition, offset, ts, stored_ts, key, text })
    }

    /// The publisher's id, or the one that was made for it.
    pub fn id(&self) -> EventId {
        self.id
    }

    /// The topic it was published to.
    pub fn topic(&self) -> &TopicName {
        &self.topic
    }

    /// The partition of the topic.
    pub fn partition(&self) -> u32 {
        self.partition
    }

    /// Its position in the partition.
    pub fn offset(&self) -> Offset {
        self.offset
    }

    /// The key, where it has one: events of one key are in one partition.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// By the publisher's clock.
    pub fn ts(&self) -> EpochMs {
        self.ts
    }

    /// By the hub's clock; never decreases within a partition.
    pub fn stored_ts(&self) -> EpochMs {
        self.stored_ts
    }

    /// The payload as a type of the application.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.json().to().map_err(|error| Error::Payload { id: self.id, reason: error.to_string() })
    }

    /// The payload as JSON text.
    pub fn json(&self) -> Json {
        let (begin, end) = self.payload;
        Json::trusted(self.text.slice(begin as usize..end as usize))
    }

    /// A `null` payload: the key is deleted.
    pub fn is_tombstone(&self) -> bool {
        self.json().is_null()
    }

    /// Names and values that the publisher gave it.
    pub fn headers(&self) -> Headers {
        serde_json::from_slice::<Meta>(&self.text).map_or_else(|_| Headers::default(), |meta| meta.headers)
    }

    /// The whole event, parsed and owned.
    pub fn to_event(&self) -> Result<Event, Error> {
        serde_json::from_slice(&self.text).map_err(|error| Error::Payload { id: self.id, reason: error.to_string() })
    }

    /// The whole event as JSON text, as the hub sent it.
    pub fn text(&self) -> &Bytes {
        &self.text
    }
}

/// The same allocation for the same name.
fn topic_like(last: &mut Option<TopicName>, name: &str) -> Result<TopicName, String> {
    match last {
        Some(last) if **last == *name => Ok(last.clone()),
        _ => {
            let topic = TopicName::parse(name).map_err(|error| error.to_string())?;
            Ok(last.insert(topic).clone())
        }
    }
}

fn place(begin: usize, end: usize) -> Result<(u32, u32), String> {
    match (u32::try_from(begin), u32::try_from(end)) {
        (Ok(begin), Ok(end)) => Ok((begin, end)),
        _ => Err("an event of more than four gigabytes".to_owned()),
    }
}

impl std::fmt::Debug for StoredEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}@{} {}", self.topic, self.partition, self.offset, self.id)
    }
}

#[cfg(test)]
mod tests {
    use prom_protocol::frame::HubFrame;

    use super::*;

    const TEXT: &str = r#"{"id":"01890a5d-ac96-774b-bcce-b302099a8057","ts":1,"stored_ts":2,"topic":"orders.placed",
        "partition":3,"offset":4,"key":"k","headers":{"x-a":"b"},"payload":null}"#;

    #[test]
    fn an_event_tells_its_place_and_parses_the_rest_when_asked() {
        let mut last = None;
        let event = StoredEvent::read(Bytes::from_static(TEXT.as_bytes()), &mut last).unwrap();
        assert_eq!((event.partition(), event.offset(), event.ts(), event.stored_ts()), (3, 4, 1, 2));
        assert_eq!((event.topic().as_str(), event.key()), ("orders.placed", Some("k")));
        assert!(event.is_tombstone());
        assert_eq!(event.headers().get("x-a"), Some("b"));
        assert_eq!(event.to_event().unwrap().offset, 4);
        assert_eq!(last.as_deref(), Some("orders.placed"));
    }

    #[test]
    fn an_event_in_the_usual_form_tells_the_same() {
        let event =
            TEXT.replace("\n        ", "").replace("\"headers\":{\"x-a\":\"b\"},", "").replace("null", "[1, 2]");
        let frame = format!(r#"{{"op":"EVENT","topic":"orders.*","event":{event}}}"#);
        let HubFrame::Events(delivered) = HubFrame::read(frame.into()).unwrap() else {
            panic!("an event was expected");
        };
        let (start, (text, _)) = (delivered.starts.unwrap().remove(0), delivered.events[0].clone());
        let begun = StoredEvent::begun(text.clone(), start, &mut None).unwrap();
        for event in [begun, StoredEvent::read(text, &mut None).unwrap()] {
            assert_eq!((event.partition(), event.offset(), event.ts(), event.stored_ts()), (3, 4, 1, 2));
            assert_eq!((event.topic().as_str(), event.key()), ("orders.placed", Some("k")));
            assert_eq!((event.json().as_str(), event.is_tombstone()), ("[1, 2]", false));
            assert_eq!(event.id().to_string(), "01890a5d-ac96-774b-bcce-b302099a8057");
        }
    }

    #[test]
    fn a_malformed_event_is_an_error() {
        let text = TEXT.replace("\"offset\":4,", "");
        assert!(StoredEvent::read(Bytes::from(text), &mut None).unwrap_err().contains("offset"));
        let text = TEXT.replace("orders.placed", "Orders!");
        assert!(StoredEvent::read(Bytes::from(text), &mut None).is_err());
    }
}
