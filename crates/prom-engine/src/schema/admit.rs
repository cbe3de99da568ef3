//! Judging an event by its topic's schemas, and stamping it with its version.

use prom_schema::limits::JUDGING_COST;
use prom_schema::{Admit, Refusal, SchemaSettings, Validator};
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
        let mut budget = JudgingBudget::of(event.payload.as_bytes().len());
        let named = named_version(&event.headers)
            .map_err(|text| refused(topic, latest.version, unknown_version(&text, self)))?;
        if let Some(version) = named {
            let chosen = self.live().find(|live| live.version == version);
            let chosen = chosen.ok_or_else(|| refused(topic, version, unknown_version(&version.to_string(), self)))?;
            chosen.judge(topic, &payload, &mut budget)?;
            return Ok(None);
        }
        let version = self.newest_that_accepts(latest, topic, &payload, &mut budget)?;
        let mut stamped = event.clone();
        stamped.headers.insert(VERSION_HEADER, version.to_string())?;
        Ok(Some(stamped))
    }

    fn newest_that_accepts(
        &self,
        latest: &CompiledVersion,
        topic: &TopicName,
        payload: &Value,
        budget: &mut JudgingBudget,
    ) -> Result<u32, Error> {
        let Err(refusal) = latest.judge(topic, payload, budget) else {
            return Ok(latest.version);
        };
        let SchemaSettings { admit: Admit::Newest, .. } = self.settings else {
            return Err(refusal);
        };
        for older in self.live().rev().skip(1) {
            budget.spend(&older.validator).map_err(|refusal| refused(topic, older.version, refusal))?;
            if older.validator.validate(payload).is_ok() {
                return Ok(older.version);
            }
        }
        Err(refusal)
    }
}

impl CompiledVersion {
    fn judge(&self, topic: &TopicName, payload: &Value, budget: &mut JudgingBudget) -> Result<(), Error> {
        let judged = budget.spend(&self.validator).and_then(|()| self.validator.validate(payload));
        judged.map_err(|refusal| refused(topic, self.version, refusal))
    }
}

/// What judging one payload may cost, by all versions that are tried. Others wait for the thread that does it, and nothing can
/// stop it on the way.
pub(super) struct JudgingBudget {
    bytes: usize,
    left: usize,
}

impl JudgingBudget {
    pub fn of(bytes: usize) -> Self {
        Self { bytes, left: JUDGING_COST }
    }

    pub fn spend(&mut self, validator: &Validator) -> Result<(), Refusal> {
        let cost = self.bytes.saturating_mul(validator.width());
        self.left = self.left.checked_sub(cost).ok_or_else(|| too_costly(self.bytes, validator.width()))?;
        Ok(())
    }
}

fn too_costly(bytes: usize, width: usize) -> Refusal {
    let most = JUDGING_COST / width.max(1);
    Refusal {
        pointer: String::new(),
        rule: "cost".to_owned(),
        schema_pointer: String::new(),
        value: String::new(),
        message: format!(
            "judging {bytes} bytes takes too long: this version judges at most {most}; simplify its patterns and branches, or \
             name the version in the header {VERSION_HEADER} where several are tried"
        ),
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
