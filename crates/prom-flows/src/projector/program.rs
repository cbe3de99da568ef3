//! Projections: what the documents of an event are. Written in jq, or as a function of the application.
//!
//! Promises: programs run on threads that may be kept busy, within the limits of every program of a user; one that fails is the
//! fault of its event, which goes to the dead letters.

use std::sync::Arc;

use prom_engine::Program;
use serde_json::Value;
use serde_json::value::RawValue;

use super::change::{KeyProjection, VersionNumber};
use super::edit::{self, DocumentEdit};
use super::event_view::EventView;
use crate::patience::patiently;

/// What becomes of an event.
#[derive(Clone)]
pub enum Projection {
    /// One document for each key, the newest event counts.
    Changelog(Arc<dyn ChangelogProjection>),
    /// Edits of documents of several collections, each event exactly once.
    Transactional(Arc<dyn TransactionalProjection>),
    /// An event of another topic for each event.
    States(Arc<dyn ChangelogProjection>),
}

/// The document of a key, made of an event. Functions of this form are one.
pub trait ChangelogProjection: Send + Sync + 'static {
    /// The same event always means the same. An error sends it to the dead letters.
    fn project(&self, event: &EventView) -> Result<KeyProjection, String>;
}

/// Edits of documents, made of an event. Functions of this form are one.
pub trait TransactionalProjection: Send + Sync + 'static {
    /// The same event always means the same. An error sends it to the dead letters.
    fn edits(&self, event: &EventView) -> Result<Vec<DocumentEdit>, String>;
}

impl<F: Fn(&EventView) -> Result<KeyProjection, String> + Send + Sync + 'static> ChangelogProjection for F {
    fn project(&self, event: &EventView) -> Result<KeyProjection, String> {
        self(event)
    }
}

impl<F: Fn(&EventView) -> Result<Vec<DocumentEdit>, String> + Send + Sync + 'static> TransactionalProjection for F {
    fn edits(&self, event: &EventView) -> Result<Vec<DocumentEdit>, String> {
        self(event)
    }
}

/// A changelog projection in jq. Each program sees the whole event.
#[derive(Clone, Default)]
pub struct JqChangelog {
    /// The document's key; the event's, where there is no program or it gives null.
    pub key: Option<Program>,
    /// The document; the payload, where there is none. Nothing leaves the event out, null deletes.
    pub map: Option<Program>,
    /// A number; a larger one is newer.
    pub version: Option<Program>,
    /// What deletes besides `null` and `{"_deleted": true}`.
    pub tombstone: Option<Program>,
}

/// A transactional projection in jq: a program from the whole event to edits.
#[derive(Clone)]
pub struct JqEdits(pub Program);

impl ChangelogProjection for JqChangelog {
    fn project(&self, event: &EventView) -> Result<KeyProjection, String> {
        let has_program =
            [&self.key, &self.map, &self.version, &self.tombstone].iter().any(|program| program.is_some());
        let whole = if has_program { event.whole() } else { Vec::new() };
        let Some(key) = self.key_of(event, &whole)? else {
            return Ok(KeyProjection::WithoutKey);
        };
        let version = match &self.version {
            Some(program) => Some(version_of(first("version", program, &whole)?)?),
            None => None,
        };
        let payload = event.payload();
        let is_deleted = match &self.tombstone {
            _ if is_tombstone(&payload) => true,
            Some(program) => {
                patiently(|| program.test(&whole)).map_err(|error| format!("the program `tombstone`: {error}"))?
            }
            None => false,
        };
        if is_deleted {
            return Ok(KeyProjection::Delete { key, version });
        }
        let body = match &self.map {
            None => payload.to_vec(),
            Some(program) => match first("map", program, &whole)? {
                None => return Ok(KeyProjection::LeftOut),
                Some(text) if text == b"null" => return Ok(KeyProjection::Delete { key, version }),
                Some(text) => text,
            },
        };
        let body = String::from_utf8(body).ok().and_then(|text| RawValue::from_string(text).ok());
        Ok(KeyProjection::Put { key, version, body: body.ok_or("the document is not JSON")? })
    }
}

impl JqChangelog {
    fn key_of(&self, event: &EventView, whole: &[u8]) -> Result<Option<String>, String> {
        if let Some(program) = &self.key
            && let Some(made) = first("key", program, whole)?
        {
            match serde_json::from_slice::<Value>(&made) {
                Ok(Value::Null) => {}
                Ok(value) => match edit::key_text(&value) {
                    Some(key) => return Ok(Some(key)),
                    None => return Err("the program `key` gives neither text nor a number".to_owned()),
                },
                Err(error) => return Err(format!("the program `key`: {error}")),
            }
        }
        Ok(event.key().map(str::to_owned))
    }
}

impl TransactionalProjection for JqEdits {
    fn edits(&self, event: &EventView) -> Result<Vec<DocumentEdit>, String> {
        let whole = event.whole();
        let outputs = patiently(|| self.0.run(&whole)).map_err(|error| format!("the program `edits`: {error}"))?;
        let mut edits = Vec::new();
        for output in outputs {
            if output != b"null" {
                edits.extend(edit::read(&output)?);
            }
        }
        Ok(edits)
    }
}

fn first(what: &str, program: &Program, whole: &[u8]) -> Result<Option<Vec<u8>>, String> {
    patiently(|| program.first(whole)).map_err(|error| format!("the program `{what}`: {error}"))
}

fn version_of(made: Option<Vec<u8>>) -> Result<VersionNumber, String> {
    made.and_then(|text| VersionNumber::parse(&text)).ok_or_else(|| "the program `version` gives no number".to_owned())
}

/// `null`, or an object that says so.
fn is_tombstone(payload: &[u8]) -> bool {
    const MEMBER: &[u8] = b"\"_deleted\"";
    if payload == b"null" {
        return true;
    }
    if !payload.windows(MEMBER.len()).any(|part| part == MEMBER) {
        return false;
    }
    let parsed = serde_json::from_slice::<Value>(payload);
    parsed.is_ok_and(|payload| payload.get("_deleted") == Some(&Value::Bool(true)))
}
