//! From a letter to the event that is published again.
//!
//! It keeps the original's key, headers, tags, session, time and partition. Its id follows from the letter's, so that it is stored
//! once; the letter's id joins its causes; headers say where the letter lies, how often the event came again, and who changed it.

use prom_engine::{Program, VERSION_HEADER};
use prom_types::{Event, EventId, Json, NewEvent, TopicName, limits};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::filter::LetterProgram;
use super::super::letter::{EDITED_HEADER, FoundLetter, LETTER_HEADER, REPLAYS_HEADER, republished_id};

/// What is made of each letter's event.
#[derive(Clone)]
pub(super) struct EventMaker {
    pub topic: TopicName,
    /// Of which letters.
    pub wanted: LetterProgram,
    pub program: Option<Program>,
    pub payload: Option<Json>,
    /// Who is said to have changed it.
    pub by: Option<String>,
}

/// An event to be published again.
pub(super) struct MadeEvent {
    pub event: NewEvent,
    pub edited: bool,
}

impl EventMaker {
    /// `None` where the program says so. Runs a program: not for a thread that serves others.
    pub fn make(&self, letter: &FoundLetter) -> Result<Option<MadeEvent>, String> {
        let original: Event = letter.original.to().map_err(|error| format!("the original cannot be read: {error}"))?;
        let payload = match (&self.payload, &self.program) {
            (Some(payload), _) => payload.clone(),
            (None, None) => original.payload.clone(),
            (None, Some(program)) => match transformed(program, &letter.original)? {
                None => return Ok(None),
                Some(payload) => payload,
            },
        };
        let edited = !says_the_same(&payload, &original.payload);
        let payload = if edited { payload } else { original.payload.clone() };
        Ok(Some(MadeEvent { event: self.event(letter, original, payload, edited), edited }))
    }

    fn event(&self, letter: &FoundLetter, original: Event, payload: Json, edited: bool) -> NewEvent {
        let mut headers = original.headers;
        if edited {
            // Which version it fits now is found out anew.
            let kept = headers.iter().filter(|(name, _)| *name != VERSION_HEADER);
            headers = kept.map(|(name, value)| (name.to_owned(), value.to_owned())).fold(
                prom_types::Headers::default(),
                |mut headers, (name, value)| {
                    drop(headers.insert(&name, value));
                    headers
                },
            );
        }
        let place = format!("{}/{}", letter.partition, letter.offset);
        let mut stamps = vec![(LETTER_HEADER, place), (REPLAYS_HEADER, letter.deaths.to_string())];
        if edited {
            let by = self.by.as_deref().unwrap_or("somebody");
            let by: String = by.chars().filter(|c| !c.is_control()).take(200).collect();
            stamps.push((EDITED_HEADER, by));
        }
        for (name, value) in stamps {
            // An event with as many headers as there may be keeps those it has.
            drop(headers.insert(name, value));
        }
        NewEvent {
            id: Some(republished_id(letter.id)),
            exact: true,
            ts: Some(original.ts),
            key: original.key,
            headers,
            tags: original.tags,
            caused_by: with_cause(original.caused_by, letter.id),
            sid: original.sid,
            partition: Some(original.partition),
            ..NewEvent::new(self.topic.clone(), payload)
        }
    }
}

/// Whether two texts differ in nothing but the space between their parts: programs write it anew.
fn says_the_same(one: &Json, other: &Json) -> bool {
    without_space(one.as_bytes()).eq(without_space(other.as_bytes()))
}

fn without_space(json: &[u8]) -> impl Iterator<Item = u8> {
    let (mut is_text, mut is_escaped) = (false, false);
    json.iter().copied().filter(move |byte| {
        if is_text {
            is_text = is_escaped || *byte != b'"';
            is_escaped = !is_escaped && *byte == b'\\';
            return true;
        }
        is_text = *byte == b'"';
        !byte.is_ascii_whitespace()
    })
}

/// The last cause is the letter. Where there are too many, the oldest goes.
fn with_cause(mut causes: Vec<EventId>, letter: EventId) -> Vec<EventId> {
    while causes.len() >= limits::CAUSED_BY {
        causes.remove(0);
    }
    causes.push(letter);
    causes
}

#[derive(Deserialize)]
struct TransformedEvent<'a> {
    #[serde(borrow)]
    payload: &'a RawValue,
}

fn transformed(program: &Program, original: &Json) -> Result<Option<Json>, String> {
    let made = program.first(original.as_bytes()).map_err(|error| format!("the transform failed: {error}"))?;
    let Some(text) = made else {
        return Ok(None);
    };
    let no_event = || {
        let text = String::from_utf8_lossy(&text).chars().take(80).collect::<String>();
        format!(
            "the transform made {text}, which is no event with a payload; change it in place, as in .payload.amount |= tonumber"
        )
    };
    let event: TransformedEvent<'_> = serde_json::from_slice(&text).map_err(|_| no_event())?;
    Json::parse(event.payload.get().to_owned()).map(Some).map_err(|error| error.to_string())
}
