//! Normalised reading: events of every version as the latest one has them.
//!
//! ```text
//!   stored event ─▶ its version ─▶ upcast step by step ─▶ valid under the latest? ─▶ the reader
//!                                      └───────── no ──────────┴─▶ the reason
//! ```
//!
//! An event without a version has the one that the topic's settings say. Between versions that need no upcaster the payload
//! stays as it is. Programs run on threads that may be kept busy. Tombstones, and topics without schemas, pass as they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use prom_schema::UpcastPayload;
use prom_store::{Record, RecordParts};
use prom_types::limits::PAYLOAD_BYTES;
use prom_types::{Headers, TopicName};
use serde_json::Value;
use serde_json::value::RawValue;

use super::admit::JudgingBudget;
use super::compiled::CompiledTopic;
use super::version::{UPCASTED_FROM, VERSION_HEADER, named_version};
use crate::bus::Core;
use crate::event::EventOrigin;
use crate::filter::{Lane, ProgramTurn};
use crate::limits::{FIRST_RETRY, LONGEST_RETRY};
use crate::{Bus, StoredEvent};

/// Why an event could not be brought to the latest version; shown on events that are only looked at.
pub const UPCAST_ERROR: &str = "x-upcast-error";

/// Why an event is not there as the latest version has it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotNormalized {
    /// It cannot be brought there. Mend the upcaster, or leave the event out.
    #[error("{0}")]
    Unfit(String),
    /// The work was stopped with the hub, and nothing is known of the event.
    #[error("upcasting was stopped")]
    Stopped,
}

/// An event as the latest version has it.
pub type Normalized = Result<StoredEvent, NotNormalized>;

impl Bus {
    /// Events as the latest version of their topic has them, in the same order.
    pub async fn normalize(&self, events: Vec<StoredEvent>) -> Vec<Normalized> {
        self.core().normalize(events).await
    }

    /// As [`Bus::normalize`], for long work that nobody waits for event by event: it has places of its own, so publishers and
    /// readers do not stand behind it.
    pub async fn normalize_in_background(&self, events: Vec<StoredEvent>) -> Vec<Normalized> {
        self.core().normalize_in(Lane::Background, events).await
    }

    /// As [`Bus::normalize`], for a reader that only looks: an event that cannot be brought to the latest version comes as
    /// it is stored, and the header `x-upcast-error` says why.
    pub async fn normalize_or_mark(&self, events: Vec<StoredEvent>) -> Vec<StoredEvent> {
        let stored = events.clone();
        let normalized = self.normalize(events).await;
        let marked = |(stored, normalized): (StoredEvent, Normalized)| {
            normalized.unwrap_or_else(|reason| match with_mark(&stored.record, &reason.to_string()) {
                Ok(record) => StoredEvent::new(stored.origin, record),
                Err(_) => stored,
            })
        };
        stored.into_iter().zip(normalized).map(marked).collect()
    }
}

impl Core {
    pub async fn normalize(&self, events: Vec<StoredEvent>) -> Vec<Normalized> {
        self.normalize_in(Lane::Serving, events).await
    }

    async fn normalize_in(&self, lane: Lane, events: Vec<StoredEvent>) -> Vec<Normalized> {
        let mut normalized: Vec<Normalized> = Vec::with_capacity(events.len());
        let mut rest = events.into_iter().peekable();
        while let Some(first) = rest.next() {
            let topic = first.topic().clone();
            let mut run = vec![first];
            while let Some(event) = rest.next_if(|event| *event.topic() == topic) {
                run.push(event);
            }
            match self.schemas_of(&topic).await {
                Ok(Some(compiled)) => self.normalize_run(lane, &compiled, run, |event| event, &mut normalized).await,
                Ok(None) => normalized.extend(run.into_iter().map(Ok)),
                Err(NotLoaded) => normalized.extend(run.into_iter().map(|_| Err(NotNormalized::Stopped))),
            }
        }
        normalized
    }

    /// The schemas of a topic. A store that does not answer is asked again until the bus stops: nothing is known of the events.
    async fn schemas_of(&self, topic: &TopicName) -> Result<Option<Arc<CompiledTopic>>, NotLoaded> {
        let mut pause = FIRST_RETRY;
        while self.check_open().is_ok() {
            match self.schema_loader().compiled(topic).await {
                Ok(compiled) => return Ok(compiled),
                Err(error) => tracing::warn!(%topic, %error, "its schemas cannot be read yet; trying again"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_RETRY);
        }
        Err(NotLoaded)
    }

    /// Events of one topic, and what is kept of each. Whatever its programs cost, others get their turn.
    pub(super) async fn normalize_run<T: Send + 'static>(
        &self,
        lane: Lane,
        compiled: &Arc<CompiledTopic>,
        mut run: Vec<StoredEvent>,
        keep: fn(StoredEvent) -> T,
        normalized: &mut Vec<Result<T, NotNormalized>>,
    ) {
        while !run.is_empty() {
            let (compiled, count) = (compiled.clone(), run.len());
            match self.filter_places.run_in(lane, move || compiled.normalize_for_a_turn(run, keep)).await {
                Some((done, rest)) => {
                    normalized.extend(done);
                    run = rest;
                }
                None => return normalized.extend((0..count).map(|_| Err(NotNormalized::Stopped))),
            }
        }
    }
}

/// The bus stops.
struct NotLoaded;

impl CompiledTopic {
    /// At least one event, and those that are left when the turn is over.
    fn normalize_for_a_turn<T>(
        &self,
        events: Vec<StoredEvent>,
        keep: fn(StoredEvent) -> T,
    ) -> (Vec<Result<T, NotNormalized>>, Vec<StoredEvent>) {
        let turn = ProgramTurn::begin();
        let mut normalized = Vec::with_capacity(events.len());
        let mut events = events.into_iter();
        for event in events.by_ref() {
            normalized.push(self.normalize(event).map(keep).map_err(NotNormalized::Unfit));
            if turn.is_over() {
                break;
            }
        }
        (normalized, events.collect())
    }

    /// Runs programs: not for a thread that serves others.
    fn normalize(&self, event: StoredEvent) -> Result<StoredEvent, String> {
        let Some(latest) = self.latest().filter(|_| !event.is_tombstone()) else {
            return Ok(event);
        };
        let mut meta = RecordMeta::read(event.record.meta()).map_err(|error| error.to_string())?;
        let no_version = |text: String| format!("the header {VERSION_HEADER} says `{text}`, which is no version");
        let named = named_version(&meta.headers).map_err(no_version)?;
        let version = named.unwrap_or(self.registered.settings.unversioned_as);
        let stored = event.json();
        let upcast = self.upcast(stored.as_bytes(), version, latest.version)?;
        let (text, value) = upcast.map_or((None, None), |upcast| (Some(upcast.text), upcast.value));
        let judged: Value = match value {
            Some(value) => value,
            None => serde_json::from_slice(text.as_deref().unwrap_or(stored.as_bytes())).map_err(|e| e.to_string())?,
        };
        let bytes = text.as_deref().unwrap_or(stored.as_bytes()).len();
        let unusable = |reason: &Arc<str>| format!("version {}, the latest, cannot be used: {reason}", latest.version);
        let validator = latest.validator.as_ref().map_err(unusable)?;
        let allowed = JudgingBudget::of(bytes).spend(validator);
        allowed.and_then(|()| validator.validate(&judged)).map_err(|refusal| {
            format!("version {version} was brought to version {}, which refuses it: {refusal}", latest.version)
        })?;
        if text.is_none() && named == Some(latest.version) {
            return Ok(event);
        }
        let stamped = meta.headers.insert(VERSION_HEADER, latest.version.to_string());
        let from =
            if version < latest.version { meta.headers.insert(UPCASTED_FROM, version.to_string()) } else { Ok(()) };
        // An event with as many headers as there may be keeps those it has.
        drop(stamped.and(from));
        let record = rewritten(&event.record, text.as_deref(), &meta)?;
        Ok(StoredEvent::new(Arc::<EventOrigin>::clone(&event.origin), record))
    }

    /// `None` where the payload stays as it is.
    fn upcast(&self, payload: &[u8], from: u32, to: u32) -> Result<Option<UpcastPayload>, String> {
        if from > to {
            return Err(format!("the event has version {from}, and the latest is version {to}"));
        }
        let is_needed = |step: &u32| {
            let needs_none = self.registered.entry.version(step + 1).is_some_and(|next| next.backward);
            !needs_none || self.upcasters.has(*step)
        };
        let made = self.upcasters.run(payload, (from..to).filter(is_needed)).map_err(|error| error.to_string())?;
        match made {
            Some(made) if made.text.len() > PAYLOAD_BYTES => {
                let size = made.text.len();
                Err(format!(
                    "upcasting from version {from} made a payload of {size} bytes, and the limit is {PAYLOAD_BYTES}"
                ))
            }
            made => Ok(made),
        }
    }
}

/// What a record has beside its payload.
struct RecordMeta {
    headers: Headers,
    /// JSON members, each followed by a comma.
    others: Vec<u8>,
}

impl RecordMeta {
    fn read(meta: &[u8]) -> Result<Self, serde_json::Error> {
        let members = meta.strip_suffix(b",").unwrap_or(meta);
        let object = [b"{", members, b"}"].concat();
        let mut members: BTreeMap<&str, &RawValue> = serde_json::from_slice(&object)?;
        let headers = match members.remove("headers") {
            Some(headers) => serde_json::from_str(headers.get())?,
            None => Headers::default(),
        };
        let mut others = Vec::new();
        members.iter().for_each(|(name, value)| write_member(&mut others, name, value.get()));
        Ok(Self { headers, others })
    }

    fn text(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut text = Vec::with_capacity(self.others.len() + 64);
        text.extend_from_slice(&self.others);
        write_member(&mut text, "headers", &serde_json::to_string(&self.headers)?);
        Ok(text)
    }
}

fn write_member(text: &mut Vec<u8>, name: &str, value: &str) {
    text.push(b'"');
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b"\":");
    text.extend_from_slice(value.as_bytes());
    text.push(b',');
}

/// The record with these headers, and another payload if one is given.
fn rewritten(record: &Record, payload: Option<&[u8]>, meta: &RecordMeta) -> Result<Record, String> {
    let stored = record.payload();
    let meta = meta.text().map_err(|error| error.to_string())?;
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

fn with_mark(record: &Record, reason: &str) -> Result<Record, String> {
    let mut meta = RecordMeta::read(record.meta()).map_err(|error| error.to_string())?;
    meta.headers.insert(UPCAST_ERROR, printable(reason)).map_err(|error| error.to_string())?;
    rewritten(record, None, &meta)
}

/// A header's value has no control characters, and a length.
fn printable(reason: &str) -> String {
    reason.chars().map(|c| if c.is_control() { ' ' } else { c }).take(500).collect()
}
