//! A stored event as readers get it: the record's bytes with accessors, nothing parsed until asked.

use std::sync::Arc;

use prom_store::{LogName, Record};
use prom_types::{EpochMs, Event, EventId, Headers, Json, Offset, TopicName};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::deliver::Port;

/// An event in its place. Cloning costs reference counts.
#[derive(Clone)]
pub struct StoredEvent {
    pub(crate) origin: Arc<EventOrigin>,
    pub(crate) record: Record,
}

/// What all events of one read have in common: one reference count instead of several per event.
pub(crate) struct EventOrigin {
    pub log: LogName,
    /// Where deliveries are settled; none for plain reads.
    pub port: Option<Port>,
}

impl EventOrigin {
    pub fn plain(log: LogName) -> Arc<Self> {
        Arc::new(Self { log, port: None })
    }
}

#[derive(Deserialize)]
struct Meta {
    #[serde(default)]
    headers: Headers,
}

#[derive(Deserialize)]
struct Causes {
    #[serde(default)]
    caused_by: Vec<EventId>,
}

impl StoredEvent {
    pub(crate) fn new(origin: Arc<EventOrigin>, record: Record) -> Self {
        Self { origin, record }
    }

    /// Its id.
    pub fn id(&self) -> EventId {
        self.record.id()
    }

    /// Its topic.
    pub fn topic(&self) -> &TopicName {
        &self.origin.log.topic
    }

    /// Its partition.
    pub fn partition(&self) -> u32 {
        self.origin.log.partition
    }

    /// Its offset in the partition.
    pub fn offset(&self) -> Offset {
        self.record.offset()
    }

    /// Its key.
    pub fn key(&self) -> Option<&str> {
        self.record.key()
    }

    /// By the publisher's clock.
    pub fn ts(&self) -> EpochMs {
        self.record.ts()
    }

    /// By the hub's clock; never decreases within a partition.
    pub fn stored_ts(&self) -> EpochMs {
        self.record.stored_ts()
    }

    /// The payload as a type of the application.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.json().to().map_err(|error| Error::Payload { id: self.id(), reason: error.to_string() })
    }

    /// The payload as JSON text.
    pub fn json(&self) -> Json {
        self.record.payload()
    }

    /// A `null` payload: the key is deleted.
    pub fn is_tombstone(&self) -> bool {
        self.record.is_tombstone()
    }

    /// Its headers, parsed.
    pub fn headers(&self) -> Headers {
        let members = self.record.meta();
        if members.is_empty() {
            return Headers::default();
        }
        // Members are stored with a comma after each; the last one has to go.
        let members = members.strip_suffix(b",").unwrap_or(members);
        let object = [b"{", members, b"}"].concat();
        serde_json::from_slice::<Meta>(&object).map_or_else(|_| Headers::default(), |meta| meta.headers)
    }

    /// Events that led to this one. Of an event without any nothing is parsed.
    pub fn caused_by(&self) -> Vec<EventId> {
        const MEMBER: &[u8] = b"\"caused_by\":";
        let members = self.record.meta();
        if !members.windows(MEMBER.len()).any(|part| part == MEMBER) {
            return Vec::new();
        }
        let members = members.strip_suffix(b",").unwrap_or(members);
        let object = [b"{", members, b"}"].concat();
        serde_json::from_slice::<Causes>(&object).map_or_else(|_| Vec::new(), |causes| causes.caused_by)
    }

    /// The whole event, parsed and owned.
    pub fn to_event(&self) -> Result<Event, Error> {
        self.record
            .to_event(&self.origin.log)
            .map_err(|error| Error::Payload { id: self.id(), reason: error.to_string() })
    }

    /// Appends the whole event as JSON text; parses nothing.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        self.record.write_json(&self.origin.log, out);
    }

    /// The same event without the block that it was read with, for one that is kept while the others go.
    pub(crate) fn into_own_memory(self) -> Self {
        let bytes = bytes::Bytes::copy_from_slice(self.record.as_bytes());
        match Record::trusted(&bytes) {
            Ok(record) => Self { record, ..self },
            // It was a record a moment ago.
            Err(_) => self,
        }
    }

    /// The stored bytes.
    pub fn record(&self) -> &Record {
        &self.record
    }
}

impl std::fmt::Debug for StoredEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{} {}", self.origin.log, self.offset(), self.id())
    }
}
