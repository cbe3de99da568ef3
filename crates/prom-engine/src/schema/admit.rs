//! Judging an event by its topic's schemas, and stamping it with its version.

use prom_schema::{Admit, Refusal, SchemaSettings};
use prom_types::{NewEvent, TopicName};
use serde_json::Value;

use super::compiled::{CompiledTopic, CompiledVersion};
use super::version::{VERSION_HEADER, named_version};
use crate::{Bus, Error};

/// Whether an event was judged before it came to admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// It is judged now, on this thread.
    Due,
    /// It was, and has its stamp.
    Done,
}

impl Bus {
    /// Judges an event by its topic's schemas as publishing it does, on this thread, and stores nothing. Gives the event
    /// with the version that it would be stamped with; `None` where it needs no stamp.
    pub fn judge_event(&self, event: &NewEvent) -> Result<Option<NewEvent>, Error> {
        let schemas = self.core().schemas.known_slot(&event.topic).and_then(|slot| slot.load());
        schemas.map_or(Ok(None), |schemas| schemas.stamp(event))
    }
}

impl CompiledTopic {
    /// The event with the version that it has; `None` where it needs no stamp.
    ///
    /// A tombstone has no content to judge. A publisher that names its version is judged by that one; else the newest
    /// version that accepts the payload counts.
    pub fn stamp(&self, event: &NewEvent) -> Result<Option<NewEvent>, Error> {
        if event.payload.is_null() {
            return Ok(None);
        }
        let topic = &event.topic;
        let Some(latest) = self.latest() else {
            return Ok(None);
        };
        let payload: Value = serde_json::from_slice(event.payload.as_bytes())
            .map_err(|error| refused(topic, latest.version, unreadable(&error)))?;
        let named = named_version(&event.headers)
            .map_err(|text| refused(topic, latest.version, unknown_version(&text, self)))?;
        if let Some(version) = named {
            let chosen = self.live().find(|live| live.version == version);
            let chosen = chosen.ok_or_else(|| refused(topic, version, unknown_version(&version.to_string(), self)))?;
            chosen.judge(topic, &payload)?;
            return Ok(None);
        }
        let version = self.newest_that_accepts(latest, topic, &payload)?;
        let mut stamped = event.clone();
        stamped.headers.insert(VERSION_HEADER, version.to_string())?;
        Ok(Some(stamped))
    }

    fn newest_that_accepts(&self, latest: &CompiledVersion, topic: &TopicName, payload: &Value) -> Result<u32, Error> {
        let Err(refusal) = latest.judge(topic, payload) else {
            return Ok(latest.version);
        };
        let SchemaSettings { admit, .. } = self.settings;
        let older = match admit {
            Admit::Latest => None,
            Admit::Newest => self.live().rev().skip(1).find(|older| older.validator.validate(payload).is_ok()),
        };
        older.map(|older| older.version).ok_or(refusal)
    }
}

impl CompiledVersion {
    fn judge(&self, topic: &TopicName, payload: &Value) -> Result<(), Error> {
        self.validator.validate(payload).map_err(|refusal| refused(topic, self.version, refusal))
    }
}

fn refused(topic: &TopicName, version: u32, refusal: Refusal) -> Error {
    Error::SchemaInvalid { topic: topic.clone(), version, refusal: Box::new(refusal) }
}

/// Any JSON is stored, but a number that no double can hold cannot be judged.
fn unreadable(error: &serde_json::Error) -> Refusal {
    Refusal {
        pointer: String::new(),
        rule: "readable".to_owned(),
        schema_pointer: String::new(),
        value: String::new(),
        message: format!("the payload cannot be judged: {error}"),
    }
}

fn unknown_version(text: &str, compiled: &CompiledTopic) -> Refusal {
    let known: Vec<String> = compiled.live().map(|version| version.version.to_string()).collect();
    Refusal {
        pointer: String::new(),
        rule: VERSION_HEADER.to_owned(),
        schema_pointer: String::new(),
        value: text.to_owned(),
        message: format!("the header {VERSION_HEADER} names version {text}; registered are {}", known.join(", ")),
    }
}
