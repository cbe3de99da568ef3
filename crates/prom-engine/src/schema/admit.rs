//! Judging an event by its topic's schemas, and stamping it with its version.

use prom_schema::limits::JUDGING_COST;
use prom_schema::{Admit, Refusal, SchemaSettings, Validator};
use prom_types::{NewEvent, TopicName};
use serde_json::Value;

use super::compiled::{CompiledTopic, CompiledVersion};
use super::slot::{SchemaSlot, SlotSchemas};
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
    /// with the version that it would be stamped with; `None` where it needs no stamp. Schemas that are not in memory are
    /// asked for by [`Bus::prepare_schemas`] first.
    pub fn judge_event(&self, event: &NewEvent) -> Result<Option<NewEvent>, Error> {
        match self.core().schemas.known_slot(&event.topic) {
            Some(slot) => stamp_here(&slot, event),
            None => Ok(None),
        }
    }

    /// Compiles the schemas of a topic if they are not in memory, so that its first event need not wait for that.
    pub async fn prepare_schemas(&self, topic: &str) -> Result<(), Error> {
        self.core().schema_loader().compiled(topic).await.map(drop)
    }
}

/// The event with its stamp; `None` where it needs none.
pub(crate) fn stamp_here(slot: &SchemaSlot, event: &NewEvent) -> Result<Option<NewEvent>, Error> {
    match slot.load() {
        SlotSchemas::Unset => Ok(None),
        SlotSchemas::Ready(schemas) => schemas.stamp(event),
        // Since it was looked at, which was before this event came here.
        SlotSchemas::PutAway(..) if event.payload.is_null() => Ok(None),
        SlotSchemas::PutAway(..) => {
            let reason = format!("the schemas of {} were put away at this very moment; try again", event.topic);
            Err(Error::NotReady { reason })
        }
    }
}

impl CompiledTopic {
    /// The event with the version that it has; `None` where it needs no stamp.
    ///
    /// A tombstone has no content to judge. A publisher that names its version is judged by that one; else the newest
    /// version that accepts the payload counts. A version that cannot be used accepts nothing.
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
            let chosen = self.live(version);
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
        let SchemaSettings { admit: Admit::Newest, .. } = self.registered.settings else {
            return Err(refusal);
        };
        for older in self.live.iter().rev().skip(1) {
            let Ok(validator) = &older.validator else {
                continue;
            };
            budget.spend(validator).map_err(|refusal| refused(topic, older.version, refusal))?;
            if validator.validate(payload).is_ok() {
                return Ok(older.version);
            }
        }
        Err(refusal)
    }
}

impl CompiledVersion {
    fn judge(&self, topic: &TopicName, payload: &Value, budget: &mut JudgingBudget) -> Result<(), Error> {
        let judged = match &self.validator {
            Ok(validator) => budget.spend(validator).and_then(|()| validator.validate(payload)),
            Err(reason) => Err(unusable(reason)),
        };
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

/// What is stored and was accepted once, and is not any more.
fn unusable(reason: &str) -> Refusal {
    Refusal {
        pointer: String::new(),
        rule: "usable".to_owned(),
        schema_pointer: String::new(),
        value: String::new(),
        message: format!(
            "this version cannot be used: {reason}; delete it, or register its schema in a form that this hub takes, or name \
             another version in the header {VERSION_HEADER}"
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
    let known: Vec<String> = compiled.live.iter().map(|version| version.version.to_string()).collect();
    Refusal {
        pointer: String::new(),
        rule: VERSION_HEADER.to_owned(),
        schema_pointer: String::new(),
        value: text.to_owned(),
        message: format!("the header {VERSION_HEADER} names version {text}; registered are {}", known.join(", ")),
    }
}
