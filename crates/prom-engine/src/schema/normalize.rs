//! Normalised reading: events of every version as the latest one has them.
//!
//! ```text
//!   stored event ─▶ its version ─▶ upcast step by step ─▶ valid under the latest? ─▶ the reader
//!                                      └───────── no ──────────┴─▶ the reason
//! ```
//!
//! An event without a version has the one that the topic's settings say. Between versions that need no upcaster the payload
//! stays as it is. Programs run on threads that may be kept busy. Tombstones, and topics without schemas, pass as they are.

use std::sync::Arc;

use prom_store::{Record, RecordParts};
use prom_types::Headers;
use prom_types::limits::PAYLOAD_BYTES;
use serde_json::Value;
use serde_json::value::RawValue;

use super::compiled::CompiledTopic;
use super::version::{UPCASTED_FROM, VERSION_HEADER, named_version};
use crate::bus::Core;
use crate::event::EventOrigin;
use crate::{Bus, StoredEvent};

/// Why an event could not be brought to the latest version; shown on events that are only looked at.
pub const UPCAST_ERROR: &str = "x-upcast-error";

/// The reason where the work was stopped with the hub: nothing is known of the event then.
pub const UPCASTING_STOPPED: &str = "upcasting was stopped";

/// An event as the latest version has it, or why it could not be brought there.
pub type Normalized = Result<StoredEvent, String>;

impl Bus {
    /// Events as the latest version of their topic has them, in the same order.
    pub async fn normalize(&self, events: Vec<StoredEvent>) -> Vec<Normalized> {
        self.core().normalize(events).await
    }

    /// As [`Bus::normalize`], for a reader that only looks: an event that cannot be brought to the latest version comes as
    /// it is stored, and the header `x-upcast-error` says why.
    pub async fn normalize_or_mark(&self, events: Vec<StoredEvent>) -> Vec<StoredEvent> {
        let stored = events.clone();
        let normalized = self.normalize(events).await;
        let marked = |(stored, normalized): (StoredEvent, Normalized)| {
            normalized.unwrap_or_else(|reason| {
                let mark = |headers: &mut Headers| drop(headers.insert(UPCAST_ERROR, printable(&reason)));
                match rewritten(&stored.record, None, mark) {
                    Ok(record) => StoredEvent::new(stored.origin, record),
                    Err(_) => stored,
                }
            })
        };
        stored.into_iter().zip(normalized).map(marked).collect()
    }
}

impl Core {
    pub async fn normalize(&self, events: Vec<StoredEvent>) -> Vec<Normalized> {
        let mut normalized: Vec<Normalized> = Vec::with_capacity(events.len());
        let mut rest = events.into_iter().peekable();
        while let Some(first) = rest.next() {
            let Some(compiled) = self.schemas.known_slot(first.topic()).and_then(|slot| slot.load()) else {
                normalized.push(Ok(first));
                continue;
            };
            let topic = first.topic().clone();
            let mut run = vec![first];
            while let Some(event) = rest.next_if(|event| *event.topic() == topic) {
                run.push(event);
            }
            let count = run.len();
            let work = move || run.into_iter().map(|event| compiled.normalize(event)).collect::<Vec<_>>();
            match self.filter_places.run(work).await {
                Some(done) => normalized.extend(done),
                None => normalized.extend((0..count).map(|_| Err(UPCASTING_STOPPED.to_owned()))),
            }
        }
        normalized
    }
}

impl CompiledTopic {
    /// Runs programs: not for a thread that serves others.
    pub(crate) fn normalize(&self, event: StoredEvent) -> Normalized {
        let Some(latest) = self.latest().filter(|_| !event.is_tombstone()) else {
            return Ok(event);
        };
        let headers = event.headers();
        let no_version = |text: String| format!("the header {VERSION_HEADER} says `{text}`, which is no version");
        let version = named_version(&headers).map_err(no_version)?.unwrap_or(self.settings.unversioned_as);
        let stored = event.json();
        let upcast = self.upcast(stored.as_bytes(), version, latest.version)?;
        let payload = upcast.as_deref().unwrap_or(stored.as_bytes());
        let judged: Value = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        latest.validator.validate(&judged).map_err(|refusal| {
            format!("version {version} was brought to version {}, which refuses it: {refusal}", latest.version)
        })?;
        let stamp = |headers: &mut Headers| {
            let stamped = headers.insert(VERSION_HEADER, latest.version.to_string());
            let from =
                if version < latest.version { headers.insert(UPCASTED_FROM, version.to_string()) } else { Ok(()) };
            // An event with as many headers as there may be keeps those it has.
            drop(stamped.and(from));
        };
        let record = rewritten(&event.record, upcast.as_deref(), stamp)?;
        Ok(StoredEvent::new(Arc::<EventOrigin>::clone(&event.origin), record))
    }

    /// `None` where the payload stays as it is.
    fn upcast(&self, payload: &[u8], from: u32, to: u32) -> Result<Option<Vec<u8>>, String> {
        if from > to {
            return Err(format!("the event has version {from}, and the latest is version {to}"));
        }
        let mut upcast: Option<Vec<u8>> = None;
        for step in from..to {
            let needs_none = self.version(step + 1).is_some_and(|next| next.backward);
            if needs_none && !self.upcasters.has(step) {
                continue;
            }
            let made = self.upcasters.step(upcast.as_deref().unwrap_or(payload), step);
            let made = made.map_err(|error| error.to_string())?;
            if made.len() > PAYLOAD_BYTES {
                let size = made.len();
                return Err(format!(
                    "the upcaster from version {step} to {} made a payload of {size} bytes, and the limit is {PAYLOAD_BYTES}",
                    step + 1
                ));
            }
            upcast = Some(made);
        }
        Ok(upcast)
    }
}

/// The record with other headers, and another payload if one is given.
fn rewritten(record: &Record, payload: Option<&[u8]>, change: impl FnOnce(&mut Headers)) -> Result<Record, String> {
    let stored = record.payload();
    let meta = rewritten_meta(record.meta(), change).map_err(|error| error.to_string())?;
    let parts = RecordParts {
        offset: record.offset(),
        stored_ts: record.stored_ts(),
        ts: record.ts(),
        id: record.id(),
        key: record.key(),
        meta: &meta,
        payload: payload.unwrap_or(stored.as_bytes()),
        exact: record.is_exact(),
    };
    let mut bytes = Vec::new();
    parts.write(&mut bytes).map_err(|error| error.to_string())?;
    Record::trusted(&bytes.into()).map_err(|error| error.to_string())
}

fn rewritten_meta(meta: &[u8], change: impl FnOnce(&mut Headers)) -> Result<Vec<u8>, serde_json::Error> {
    let members = meta.strip_suffix(b",").unwrap_or(meta);
    let object = [b"{", members, b"}"].concat();
    let mut members: std::collections::BTreeMap<&str, &RawValue> = serde_json::from_slice(&object)?;
    let mut headers = match members.remove("headers") {
        Some(headers) => serde_json::from_str(headers.get())?,
        None => Headers::default(),
    };
    change(&mut headers);
    let mut text = Vec::with_capacity(meta.len() + 64);
    let mut member = |name: &str, value: &str| {
        text.push(b'"');
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(b"\":");
        text.extend_from_slice(value.as_bytes());
        text.push(b',');
    };
    members.iter().for_each(|(name, value)| member(name, value.get()));
    member("headers", &serde_json::to_string(&headers)?);
    Ok(text)
}

/// A header's value has no control characters, and a length.
fn printable(reason: &str) -> String {
    reason.chars().map(|c| if c.is_control() { ' ' } else { c }).take(500).collect()
}
