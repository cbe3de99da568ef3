//! One line of an import: an event as an export wrote it, read back into what is published.

use bytes::Bytes;
use prom_types::{EpochMs, EventId, Headers, Json, NewEvent, Offset, TopicName, limits, read_list};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::http::body::check_object;
use crate::http::extract::topic_name;
use crate::http::problem::{Code, Problem};

#[derive(Deserialize)]
struct Exported<'a> {
    id: Option<EventId>,
    ts: Option<EpochMs>,
    topic: Option<String>,
    partition: Option<u32>,
    offset: Option<Offset>,
    stored_ts: Option<EpochMs>,
    key: Option<String>,
    sid: Option<String>,
    #[serde(default)]
    headers: Headers,
    #[serde(default, deserialize_with = "read_list::<{ limits::CAUSED_BY }, _, _>")]
    caused_by: Vec<EventId>,
    #[serde(default, deserialize_with = "read_list::<{ limits::TAGS }, _, _>")]
    tags: Vec<String>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// An event to import.
pub(super) struct ImportLine {
    pub(super) event: NewEvent,
    /// Where it was in the topic that it goes to.
    pub(super) origin: Option<PlaceOfOrigin>,
}

/// Where and when an event was stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlaceOfOrigin {
    pub(super) partition: u32,
    pub(super) offset: Offset,
    pub(super) stored_ts: Option<EpochMs>,
}

pub(super) fn read(text: &Bytes, topic: Option<&TopicName>) -> Result<ImportLine, Problem> {
    check_object(text)?;
    let exported: Exported<'_> = serde_json::from_slice(text).map_err(|error| {
        let code = if error.is_data() { Code::BadRequest } else { Code::BadJson };
        Problem::new(code, format!("not an event: {error}"))
    })?;
    let topic = match (topic, &exported.topic) {
        (Some(topic), _) => topic.clone(),
        (None, Some(name)) => topic_name(name)?,
        (None, None) => return Err(Problem::field("topic", "is missing; give it in the event or as ?topic=…")),
    };
    let is_home = exported.topic.as_deref() == Some(topic.as_str());
    let place = exported.partition.zip(exported.offset).filter(|_| is_home && exported.id.is_some());
    let stored_ts = exported.stored_ts;
    let origin = place.map(|(partition, offset)| PlaceOfOrigin { partition, offset, stored_ts });
    let event = NewEvent {
        topic,
        payload: Json::parse(text.slice_ref(exported.payload.get().as_bytes()))?,
        id: exported.id,
        exact: exported.id.is_some(),
        ts: exported.ts,
        key: exported.key,
        headers: exported.headers,
        tags: exported.tags,
        caused_by: exported.caused_by,
        sid: exported.sid,
        partition: exported.partition,
        dual_write: false,
        expect: None,
    };
    Ok(ImportLine { event, origin })
}
