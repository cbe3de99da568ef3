//! The event: as a publisher hands it over, and as a reader gets it.

use serde::{Deserialize, Serialize};

use crate::error::Invalid;
use crate::{EpochMs, EventId, Expectation, Headers, Json, Offset, TopicName, limits};

/// What a publisher hands over. Only topic and payload are required.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// Where it goes.
    pub topic: TopicName,
    /// What it says.
    pub payload: Json,
    /// Made by the hub when absent. Repeating one within the dedupe window stores nothing.
    pub id: Option<EventId>,
    /// The id is unique for as long as the event is retained, not only within the window.
    pub exact: bool,
    /// When it happened, by the publisher's clock; decides nothing.
    pub ts: Option<EpochMs>,
    /// Decides the partition, the order and what compaction keeps.
    pub key: Option<String>,
    /// Text beside the payload.
    pub headers: Headers,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Events that led to this one.
    pub caused_by: Vec<EventId>,
    /// The session of the publisher.
    pub sid: Option<String>,
    /// A partition chosen by hand; else the key decides, else the id.
    pub partition: Option<u32>,
    /// It also goes to the topic of its schema's version, both or neither.
    pub dual_write: bool,
    /// What must be so for it to be stored. Decided after everything else, and not for an id that is there already.
    pub expect: Option<Expectation>,
}

impl NewEvent {
    /// An event with this payload and nothing else.
    pub fn new(topic: TopicName, payload: impl Into<Json>) -> Self {
        Self {
            topic,
            payload: payload.into(),
            id: None,
            exact: false,
            ts: None,
            key: None,
            headers: Headers::default(),
            tags: Vec::new(),
            caused_by: Vec::new(),
            sid: None,
            partition: None,
            dual_write: false,
            expect: None,
        }
    }

    /// Sizes of everything that has a limit and is not already right by type.
    pub fn check(&self) -> Result<(), Invalid> {
        let within =
            |what, size, limit| if size > limit { Err(Invalid::TooLarge { what, size, limit }) } else { Ok(()) };
        within("payload", self.payload.as_bytes().len(), limits::PAYLOAD_BYTES)?;
        within("key", self.key.as_ref().map_or(0, String::len), limits::KEY_BYTES)?;
        within("sid", self.sid.as_ref().map_or(0, String::len), limits::SID_BYTES)?;
        within("number of tags", self.tags.len(), limits::TAGS)?;
        within("number of causes", self.caused_by.len(), limits::CAUSED_BY)?;
        for tag in &self.tags {
            within("tag", tag.len(), limits::TAG_BYTES)?;
        }
        Ok(())
    }
}

/// A stored event, whole and owned: what `prom sub` prints and an export holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Unique within its partition.
    pub id: EventId,
    /// By the publisher's clock.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub ts: EpochMs,
    /// By the hub's clock; never decreases within a partition.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub stored_ts: EpochMs,
    /// Its topic.
    pub topic: TopicName,
    /// Its partition.
    pub partition: u32,
    /// Its offset in the partition.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub offset: Offset,
    /// Its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub key: Option<String>,
    /// The session of the publisher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub sid: Option<String>,
    /// Text beside the payload.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// Events that led to this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caused_by: Vec<EventId>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What it says.
    pub payload: Json,
}
