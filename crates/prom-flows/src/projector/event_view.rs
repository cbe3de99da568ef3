//! An event as a projection sees it: from the topic itself, or whole from a snapshot.

use bytes::Bytes;
use prom_engine::StoredEvent;
use prom_types::{EpochMs, Event, EventId, Offset};

/// An event that is projected.
#[derive(Debug, Clone)]
pub struct EventView(EventSource);

#[derive(Debug, Clone)]
enum EventSource {
    Stored(StoredEvent),
    /// With its text.
    OfSnapshot(Box<Event>, Bytes),
}

impl From<StoredEvent> for EventView {
    fn from(event: StoredEvent) -> Self {
        Self(EventSource::Stored(event))
    }
}

impl EventView {
    /// The original of an event of a snapshot topic.
    pub(crate) fn of_snapshot(entry: &StoredEvent) -> Result<Self, String> {
        let text = entry.json().into_bytes();
        let event = serde_json::from_slice(&text).map_err(|error| format!("not an event of a snapshot: {error}"))?;
        Ok(Self(EventSource::OfSnapshot(Box::new(event), text)))
    }

    /// Its id.
    pub fn id(&self) -> EventId {
        match &self.0 {
            EventSource::Stored(event) => event.id(),
            EventSource::OfSnapshot(event, _) => event.id,
        }
    }

    /// Its key.
    pub fn key(&self) -> Option<&str> {
        match &self.0 {
            EventSource::Stored(event) => event.key(),
            EventSource::OfSnapshot(event, _) => event.key.as_deref(),
        }
    }

    /// Its place in its partition.
    pub fn offset(&self) -> Offset {
        match &self.0 {
            EventSource::Stored(event) => event.offset(),
            EventSource::OfSnapshot(event, _) => event.offset,
        }
    }

    /// When the hub stored it.
    pub fn stored_ts(&self) -> EpochMs {
        match &self.0 {
            EventSource::Stored(event) => event.stored_ts(),
            EventSource::OfSnapshot(event, _) => event.stored_ts,
        }
    }

    /// The text of its payload.
    pub fn payload(&self) -> Bytes {
        match &self.0 {
            EventSource::Stored(event) => event.json().into_bytes(),
            EventSource::OfSnapshot(event, _) => Bytes::copy_from_slice(event.payload.as_bytes()),
        }
    }

    /// The whole event as JSON text, as every reader gets it.
    pub fn whole(&self) -> Vec<u8> {
        match &self.0 {
            EventSource::Stored(event) => {
                let mut text = Vec::new();
                event.write_json(&mut text);
                text
            }
            EventSource::OfSnapshot(_, text) => text.to_vec(),
        }
    }

    /// The value of a header, where the event has it. Of an event without this name nothing is parsed.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let EventSource::Stored(event) = &self.0 else { return None };
        let members = event.record().meta();
        let is_there = members.windows(name.len()).any(|part| part == name.as_bytes());
        is_there.then(|| event.headers().get(name).map(str::to_owned)).flatten()
    }
}
