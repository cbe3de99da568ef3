//! `EVENT{topic, group, event, ctx{attempt, max_attempts, ack_deadline_ms}}`, and with the feature `batch`
//! `EVENTS{topic, group, events: […], ctx{max_attempts, ack_deadline_ms, attempts?}}`: what is not in
//! `attempts` (place in the list → attempt) comes for the first time.
//!
//! Without a group there is neither `group` nor `ctx`. Events are copied as they are stored.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::write::{self, Object};
use super::{EventStart, FrameError, SubscriptionName, usual};

/// The head of an EVENT or EVENTS frame, written once per subscription and copied into each.
#[derive(Debug, Clone)]
pub struct EventHead {
    one: Vec<u8>,
    many: Vec<u8>,
}

/// How an event is leased to its subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct LeaseTerms {
    pub attempt: u32,
    pub max_attempts: u32,
    pub ack_deadline_ms: u64,
}

impl EventHead {
    pub fn new(name: &SubscriptionName) -> Self {
        let head = |op| {
            let mut out = Vec::new();
            let mut object = Object::frame(&mut out, op, None);
            name.write(&mut object);
            out
        };
        Self { one: head("EVENT"), many: head("EVENTS") }
    }

    /// `event` appends the event's JSON.
    pub fn write(&self, out: &mut Vec<u8>, leased: Option<LeaseTerms>, event: impl FnOnce(&mut Vec<u8>)) {
        out.extend_from_slice(&self.one);
        out.extend_from_slice(b",\"event\":");
        event(out);
        if let Some(leased) = leased {
            out.extend_from_slice(b",\"ctx\":{\"attempt\":");
            write::number(out, leased.attempt);
            write_rest(out, leased);
        }
        out.push(b'}');
    }

    /// Begins a frame of many; then [`Many::event`] for each, then [`Many::end`].
    pub fn begin_many<'o>(&self, out: &'o mut Vec<u8>) -> Many<'o> {
        out.extend_from_slice(&self.many);
        out.extend_from_slice(b",\"events\":");
        Many { out, events: 0, attempts: Vec::new(), last: None }
    }
}

fn write_rest(out: &mut Vec<u8>, leased: LeaseTerms) {
    out.extend_from_slice(b",\"max_attempts\":");
    write::number(out, leased.max_attempts);
    out.extend_from_slice(b",\"ack_deadline_ms\":");
    write::number(out, leased.ack_deadline_ms);
    out.push(b'}');
}

/// An EVENTS frame under way.
pub struct Many<'o> {
    out: &'o mut Vec<u8>,
    events: usize,
    attempts: Vec<(usize, u32)>,
    last: Option<LeaseTerms>,
}

impl Many<'_> {
    pub fn event(&mut self, leased: Option<LeaseTerms>, event: impl FnOnce(&mut Vec<u8>)) {
        self.out.push(if self.events == 0 { b'[' } else { b',' });
        event(self.out);
        if let Some(leased) = leased {
            if leased.attempt != 1 {
                self.attempts.push((self.events, leased.attempt));
            }
            // The shortest deadline holds for all.
            let sooner =
                self.last.map_or(leased.ack_deadline_ms, |last| last.ack_deadline_ms.min(leased.ack_deadline_ms));
            self.last = Some(LeaseTerms { ack_deadline_ms: sooner, ..leased });
        }
        self.events += 1;
    }

    /// How much was written from there on.
    pub fn bytes_since(&self, begin: usize) -> usize {
        self.out.len() - begin
    }

    pub fn end(self) {
        let out = self.out;
        out.extend_from_slice(if self.events == 0 { b"[]" } else { b"]" });
        if let Some(leased) = self.last {
            out.extend_from_slice(b",\"ctx\":{\"attempts\":{");
            for (at, (place, attempt)) in self.attempts.iter().enumerate() {
                out.extend_from_slice(if at == 0 { b"\"" } else { b",\"" });
                write::number(out, *place);
                out.extend_from_slice(b"\":");
                write::number(out, *attempt);
            }
            out.push(b'}');
            write_rest(out, leased);
        }
        out.push(b'}');
    }
}

/// What a client reads of either frame.
#[derive(Debug, PartialEq)]
pub struct Delivered {
    pub name: SubscriptionName,
    /// Each event's JSON with its lease, if it has one.
    pub events: Vec<(Bytes, Option<LeaseTerms>)>,
    /// How each of them begins, if all are written in the usual form, with nothing behind their payloads.
    pub starts: Option<Vec<EventStart>>,
}

#[derive(Deserialize)]
struct Fields<'a> {
    topic: String,
    group: Option<String>,
    #[serde(borrow, default)]
    event: Option<&'a RawValue>,
    #[serde(borrow, default)]
    events: Vec<&'a RawValue>,
    ctx: Option<DeliveryContext>,
}

#[derive(Deserialize)]
pub(super) struct DeliveryContext {
    attempt: Option<u32>,
    #[serde(default)]
    attempts: BTreeMap<usize, u32>,
    max_attempts: u32,
    ack_deadline_ms: u64,
}

impl DeliveryContext {
    /// Of the event at this place.
    pub fn leased(&self, at: usize) -> LeaseTerms {
        LeaseTerms {
            attempt: self.attempt.or_else(|| self.attempts.get(&at).copied()).unwrap_or(1),
            max_attempts: self.max_attempts,
            ack_deadline_ms: self.ack_deadline_ms,
        }
    }
}

impl Delivered {
    pub(super) fn read(text: &Bytes) -> Result<Self, FrameError> {
        match usual::delivered(text) {
            Some(delivered) => Ok(delivered),
            None => Self::read_generally(text),
        }
    }

    pub(super) fn read_generally(text: &Bytes) -> Result<Self, FrameError> {
        let fields: Fields<'_> = serde_json::from_slice(text)?;
        let leased = |at: usize| fields.ctx.as_ref().map(|ctx| ctx.leased(at));
        let events = fields.event.into_iter().chain(fields.events.iter().copied()).enumerate();
        let events = events.map(|(at, raw)| (text.slice_ref(raw.get().as_bytes()), leased(at))).collect();
        let name = SubscriptionName { topic: fields.topic, group: fields.group };
        Ok(Self { name, events, starts: None })
    }
}
