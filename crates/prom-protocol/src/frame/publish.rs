//! `PUBLISH{topic, payload, opts?}` → `OK{id, partition, offset, stored_ts, durability}`, and with the
//! feature `batch` `PUBLISH{events: [{topic, payload, opts?}…], atomic?}` → `OK{durability, results}`.
//!
//! `atomic: true` stores all of a batch or nothing; without it each event is independent.

use std::borrow::Cow;

use bytes::Bytes;
use prom_types::{EpochMs, EventId, Expectation, Headers, Json, NewEvent, TopicName, limits};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::client::Fields;
use super::field::{self, Raw, optional, present, required};
use super::publish_items::{Item, ItemFields, PublishItems};
use super::write::{self, Object};
use super::{Corr, FrameError};
use crate::limits::BATCH_ITEMS;

/// An event as a frame or an HTTP request carries it.
#[derive(Debug)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Publish<'a> {
    #[cfg_attr(feature = "openapi", schema(value_type = TopicName, example = "orders.placed"))]
    pub topic: Cow<'a, str>,
    /// Any JSON; `null` deletes the key of a compacted topic.
    #[cfg_attr(feature = "openapi", schema(example = json!({"id": 7})))]
    pub payload: Json,
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub opts: PublishOpts,
}

#[derive(Debug)]
pub struct PublishBatch<'a> {
    /// Each is read on its own: a wrong one does not affect the others, unless the batch is atomic.
    pub events: Vec<Result<Publish<'a>, FrameError>>,
    pub atomic: bool,
}

/// Everything about an event that may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PublishOpts {
    /// A UUID, best version 7; made by the hub when absent.
    pub id: Option<EventId>,
    /// The id is unique for as long as the event is retained, not only for ten minutes.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub exact: bool,
    /// When it happened, in epoch milliseconds; decides nothing.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub ts: Option<EpochMs>,
    /// Decides the partition, the order and what compaction keeps.
    pub key: Option<String>,
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub headers: Headers,
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub tags: Vec<String>,
    /// Ids of the events that led to this one.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub caused_by: Vec<EventId>,
    /// The publisher's session.
    pub sid: Option<String>,
    /// A partition chosen by hand.
    pub partition: Option<u32>,
    /// It also goes to the topic of its schema's version, both or neither.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub dual_write: bool,
    /// What must be so for it to be stored; else the answer is `conflict`. Not looked at for an id that is there already.
    pub expect: Option<Expectation>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OptsFields<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    exact: Raw<'a>,
    #[serde(borrow)]
    ts: Raw<'a>,
    #[serde(borrow)]
    key: Raw<'a>,
    #[serde(borrow)]
    headers: Raw<'a>,
    #[serde(borrow)]
    tags: Raw<'a>,
    #[serde(borrow)]
    caused_by: Raw<'a>,
    #[serde(borrow)]
    sid: Raw<'a>,
    #[serde(borrow)]
    partition: Raw<'a>,
    #[serde(borrow)]
    dual_write: Raw<'a>,
    #[serde(borrow)]
    expect: Raw<'a>,
}

/// A body of its own.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow)]
    topic: Raw<'a>,
    #[serde(borrow, deserialize_with = "present")]
    payload: Raw<'a>,
    #[serde(borrow)]
    opts: Raw<'a>,
}

impl<'a> Publish<'a> {
    pub(super) fn read(text: &'a Bytes, fields: &Fields<'a>) -> Result<Self, FrameError> {
        let item = Item { topic: fields.topic, payload: fields.payload, opts: fields.opts };
        Self::read_item(text, &item)
    }

    /// Reads `{topic, payload, opts?}` on its own, as HTTP takes it.
    pub fn read_body(text: &'a Bytes) -> Result<Self, FrameError> {
        let body: Body<'a> = serde_json::from_slice(text)?;
        Self::read_item(text, &Item { topic: body.topic, payload: body.payload, opts: body.opts })
    }

    fn read_item(text: &'a Bytes, item: &Item<'a>) -> Result<Self, FrameError> {
        Ok(Self {
            topic: required("topic", item.topic, field::text)?,
            payload: required("payload", item.payload, |_, raw| Ok(Json::part_of(text, raw)?))?,
            opts: optional("opts", item.opts, |_, raw| PublishOpts::read(raw))?.unwrap_or_default(),
        })
    }

    pub fn into_event(self, topic: TopicName) -> NewEvent {
        let PublishOpts { id, exact, ts, key, headers, tags, caused_by, sid, partition, dual_write, expect } =
            self.opts;
        NewEvent {
            topic,
            payload: self.payload,
            id,
            exact,
            ts,
            key,
            headers,
            tags,
            caused_by,
            sid,
            partition,
            dual_write,
            expect,
        }
    }
}

impl PublishOpts {
    pub fn read(raw: &RawValue) -> Result<Self, FrameError> {
        let fields: OptsFields<'_> = field::object("opts", raw)?;
        Ok(Self {
            id: optional("opts.id", fields.id, field::event_id)?,
            exact: optional("opts.exact", fields.exact, field::flag)?.unwrap_or_default(),
            ts: optional("opts.ts", fields.ts, field::number)?,
            key: optional("opts.key", fields.key, field::owned_text)?,
            headers: optional("opts.headers", fields.headers, field::headers)?.unwrap_or_default(),
            tags: optional("opts.tags", fields.tags, field::texts::<{ limits::TAGS }>)?.unwrap_or_default(),
            caused_by: optional("opts.caused_by", fields.caused_by, field::event_ids::<{ limits::CAUSED_BY }>)?
                .unwrap_or_default(),
            sid: optional("opts.sid", fields.sid, field::owned_text)?,
            partition: optional("opts.partition", fields.partition, field::number)?,
            dual_write: optional("opts.dual_write", fields.dual_write, field::flag)?.unwrap_or_default(),
            expect: optional("opts.expect", fields.expect, field::expectation)?,
        })
    }
}

impl<'a> PublishBatch<'a> {
    pub(super) fn read(text: &'a Bytes, fields: Fields<'a>) -> Result<Self, FrameError> {
        let atomic = optional("atomic", fields.atomic, field::flag)?.unwrap_or_default();
        let items = match fields.events {
            Some(PublishItems::List(items)) => items,
            Some(PublishItems::TooMany(count)) => return Err(too_many(count)),
            Some(PublishItems::NotAList) | None => return Err(FrameError::field("events", "must be a list")),
        };
        let read = |(at, fields): (usize, ItemFields<'a>)| match fields.known() {
            Ok(item) => Publish::read_item(text, &item),
            Err(reason) => Err(FrameError::field(&format!("events[{at}]"), reason)),
        };
        Ok(Self { events: items.into_iter().enumerate().map(read).collect(), atomic })
    }
}

fn too_many(count: usize) -> FrameError {
    FrameError::TooLarge(format!("{count} events in a frame, at most {BATCH_ITEMS} fit"))
}

/// What a frame of written events is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// One event, in the plain form.
    One,
    /// Each is independent.
    Many,
    /// All are stored or none.
    Atomic,
}

/// Writes a frame with one event.
pub fn write(out: &mut Vec<u8>, corr: Option<&Corr>, event: &NewEvent) {
    let mut object = Object::frame(out, "PUBLISH", corr);
    object.text("topic", &event.topic).raw("payload", event.payload.as_bytes());
    write_opts(object.name("opts"), event);
    object.end();
}

/// Writes a frame with many independent events.
pub fn write_batch<'e>(out: &mut Vec<u8>, corr: Option<&Corr>, events: impl Iterator<Item = &'e NewEvent>) {
    let object = Object::frame(out, "PUBLISH", corr);
    write_events(object, events);
}

/// Writes a frame with many that are stored all or not at all.
pub fn write_atomic<'e>(out: &mut Vec<u8>, corr: Option<&Corr>, events: impl Iterator<Item = &'e NewEvent>) {
    let mut object = Object::frame(out, "PUBLISH", corr);
    object.raw("atomic", b"true");
    write_events(object, events);
}

/// Writes a frame of events that [`write_event`] has written, each piece holding some with commas between them: a sender
/// that repeats a frame need not keep the events themselves.
pub fn write_written<'t>(
    out: &mut Vec<u8>,
    corr: Option<&Corr>,
    written: Written,
    mut pieces: impl Iterator<Item = &'t [u8]>,
) {
    let mut object = Object::frame(out, "PUBLISH", corr);
    if written == Written::One {
        // The members of the event are the frame's own.
        let members = pieces.next().and_then(|event| event.get(1..)).unwrap_or(b"}");
        out.push(b',');
        return out.extend_from_slice(members);
    }
    if written == Written::Atomic {
        object.raw("atomic", b"true");
    }
    let list = object.name("events");
    list.push(b'[');
    for (at, piece) in pieces.enumerate() {
        if at > 0 {
            list.push(b',');
        }
        list.extend_from_slice(piece);
    }
    list.push(b']');
    object.end();
}

/// Appends one event as frames of many carry it.
pub fn write_event(out: &mut Vec<u8>, event: &NewEvent) {
    out.extend_from_slice(b"{\"topic\":\"");
    // The grammar of names has nothing that would have to be escaped.
    out.extend_from_slice(event.topic.as_bytes());
    out.extend_from_slice(b"\",\"payload\":");
    out.extend_from_slice(event.payload.as_bytes());
    out.extend_from_slice(b",\"opts\":");
    write_opts(out, event);
    out.push(b'}');
}

fn write_events<'e>(mut object: Object<'_>, events: impl Iterator<Item = &'e NewEvent>) {
    let out = object.name("events");
    let mut opening = b'[';
    for event in events {
        out.push(opening);
        opening = b',';
        write_event(out, event);
    }
    if opening == b'[' {
        out.push(b'[');
    }
    out.push(b']');
    object.end();
}

fn write_opts(out: &mut Vec<u8>, event: &NewEvent) {
    let mut opening: &[u8] = b"{\"";
    let mut member = |out: &mut Vec<u8>, name: &str| {
        out.extend_from_slice(opening);
        opening = b",\"";
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
    };
    if let Some(id) = event.id {
        member(out, "id");
        out.push(b'"');
        id.write_to(out);
        out.push(b'"');
    }
    if event.exact {
        member(out, "exact");
        out.extend_from_slice(b"true");
    }
    if event.dual_write {
        member(out, "dual_write");
        out.extend_from_slice(b"true");
    }
    if let Some(expected) = event.expect {
        member(out, "expect");
        write::expectation(out, expected);
    }
    if let Some(ts) = event.ts {
        member(out, "ts");
        write::number(out, ts);
    }
    for (name, text) in [("key", &event.key), ("sid", &event.sid)] {
        if let Some(text) = text {
            member(out, name);
            write::text(out, text);
        }
    }
    if let Some(partition) = event.partition {
        member(out, "partition");
        write::number(out, partition);
    }
    let mut list = |out: &mut Vec<u8>, name: &str, json: serde_json::Result<String>| {
        if let Ok(json) = json {
            member(out, name);
            out.extend_from_slice(json.as_bytes());
        }
    };
    if !event.headers.is_empty() {
        list(out, "headers", serde_json::to_string(&event.headers));
    }
    if !event.tags.is_empty() {
        list(out, "tags", serde_json::to_string(&event.tags));
    }
    if !event.caused_by.is_empty() {
        list(out, "caused_by", serde_json::to_string(&event.caused_by));
    }
    out.extend_from_slice(if opening == b"{\"" { b"{}" } else { b"}" });
}
