//! What is set aside for a group beside its cursor: letters that were given back, and keys that are parked.
//!
//! ```text
//!   set_aside       <topic>/<partition>/<group>                    that there is something, and from where on
//!   given_back      <topic>/<partition>/<group>/<offset>           an event that was given back, and what became of it
//!   parked_keys     <topic>/<partition>/<group>/<hash>             a key that is parked
//!   parked_letters  <topic>/<partition>/<group>/<hash>/<offset>    an event of a parked key
//! ```
//!
//! Each event is a small document of its own, so a million of them cost no memory and no large write. The dispatcher of the
//! cursor alone writes them, under its epoch, and reads them page by page in the order of their keys. Nothing here moves a floor.

use std::collections::BTreeMap;

use prom_store::{CursorName, Document, DocumentWrite, Failures, LogName, Store};
use prom_types::{EpochMs, EventId, GroupName, Offset, TopicName};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::letter_ref::{LetterPlace, LetterRef};
use crate::limits::DOCUMENTS_AT_ONCE;
use crate::{Error, LetterOutcome};

pub(crate) const GATES: &str = "set_aside";
pub(crate) const MARKS: &str = "given_back";
pub(crate) const KEYS: &str = "parked_keys";
pub(crate) const PARKED: &str = "parked_letters";

/// That a cursor has something set aside.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Gate {
    /// No event before it waits that was given back, parked ones aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Offset>,
    /// The first letter of those events, by partition of the dead letters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub letters_from: BTreeMap<u32, Offset>,
}

/// An event that was given back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct GivenMark {
    pub state: MarkState,
    /// How often it was given back, this time included.
    pub time: u32,
    /// The letter that was given back last.
    pub letter: EventId,
    /// Where that lies; unknown where it went on by itself, behind others of its parked key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<LetterPlace>,
    pub event: EventId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// It waits among the events of its parked key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parked: bool,
    /// Who gave it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub given_ts: EpochMs,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_ts: Option<EpochMs>,
    #[serde(default, flatten)]
    pub failures: CountedFailures,
    /// The letter that was written when it was dead again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<EventId>,
}

/// How often an event failed since it was given back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CountedFailures {
    #[serde(default, skip_serializing_if = "is_zero")]
    attempts: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    returns: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MarkState {
    Waiting,
    Acked,
    Dead,
    Dropped,
    Gone,
}

/// A key that is parked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ParkedKeyDocument {
    pub key: String,
    /// The event that failed last.
    pub behind: EventId,
    pub since: EpochMs,
    /// No letter of the key lies before it, by partition of the dead letters.
    pub letters_from: BTreeMap<u32, Offset>,
    /// Events from here on were not parked yet when something of the key was given back last: they go on behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows_from: Option<Offset>,
}

/// An event of a parked key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ParkedLetter {
    pub letter: EventId,
    pub event: EventId,
    /// How often it had been given back when the letter was written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub given_back: u32,
    /// It was given back, and waits for its turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub given: bool,
    #[serde(default, flatten)]
    pub failures: CountedFailures,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl From<Failures> for CountedFailures {
    fn from(Failures { attempts, returns, reason }: Failures) -> Self {
        Self { attempts, returns, reason }
    }
}

impl From<CountedFailures> for Failures {
    fn from(CountedFailures { attempts, returns, reason }: CountedFailures) -> Self {
        Self { attempts, returns, reason }
    }
}

impl GivenMark {
    pub fn waiting(letter: &LetterRef, time: u32, by: Option<&str>, now: EpochMs) -> Self {
        Self {
            state: MarkState::Waiting,
            time,
            letter: letter.letter,
            place: Some(letter.place),
            event: letter.event,
            key: letter.key.clone(),
            parked: false,
            by: by.map(str::to_owned),
            given_ts: now,
            settled_ts: None,
            failures: CountedFailures::default(),
            next: None,
        }
    }

    pub fn ended(self, state: MarkState, now: EpochMs) -> Self {
        Self { state, settled_ts: Some(now), failures: CountedFailures::default(), ..self }
    }

    /// Of a letter that was written after this many times of giving back.
    pub fn outcome_of(&self, given_back: u32) -> LetterOutcome {
        let at = self.settled_ts.unwrap_or(self.given_ts);
        let time = given_back.saturating_add(1);
        match (time.cmp(&self.time), self.state, self.next) {
            (std::cmp::Ordering::Greater, ..) => LetterOutcome::NotGivenBack,
            (std::cmp::Ordering::Less, ..) => LetterOutcome::DeadAgain { time, letter: self.letter },
            (_, MarkState::Waiting, _) => LetterOutcome::Waiting { time, failed_attempts: self.failures.attempts },
            (_, MarkState::Acked, _) => LetterOutcome::Acked { time, at },
            (_, MarkState::Dead, Some(letter)) => LetterOutcome::DeadAgain { time, letter },
            (_, MarkState::Dead, None) => LetterOutcome::DeadAgain { time, letter: self.letter },
            (_, MarkState::Dropped, _) => LetterOutcome::Dropped { at },
            (_, MarkState::Gone, _) => LetterOutcome::Gone { at },
        }
    }
}

/// The name under which a cursor's things are set aside.
pub(crate) fn gate_key(cursor: &CursorName) -> String {
    format!("{}/{:05}/{}", cursor.log.topic, cursor.log.partition, cursor.group)
}

/// The log of a gate, if it is of this group.
pub(crate) fn log_of(gate: &str, group: &GroupName) -> Option<LogName> {
    let mut parts = gate.split('/');
    let (topic, partition, of) = (parts.next()?, parts.next()?, parts.next()?);
    (of == group.as_str()).then_some(())?;
    Some(LogName::new(TopicName::parse(topic).ok()?, partition.parse().ok()?))
}

pub(crate) fn mark_key(gate: &str, offset: Offset) -> String {
    format!("{gate}/{offset:020}")
}

pub(crate) fn parked_key_key(gate: &str, key: u64) -> String {
    format!("{gate}/{key:016x}")
}

pub(crate) fn parked_letter_key(gate: &str, key: u64, offset: Offset) -> String {
    format!("{gate}/{key:016x}/{offset:020}")
}

/// Where a page of documents below a name begins: before all of them, or behind an offset.
pub(crate) fn behind(name: &str, after: Option<Offset>) -> String {
    after.map_or_else(|| format!("{name}/"), |after| mark_key(name, after))
}

/// The offset at the end of a document's key, if it lies directly below `name`.
pub(crate) fn offset_below(name: &str, key: &str) -> Option<Offset> {
    below(name, key)?.parse().ok()
}

pub(crate) fn hash_below(name: &str, key: &str) -> Option<u64> {
    u64::from_str_radix(below(name, key)?, 16).ok()
}

fn below<'a>(name: &str, key: &'a str) -> Option<&'a str> {
    key.strip_prefix(name)?.strip_prefix('/')
}

pub(crate) fn read<T: DeserializeOwned>(collection: &'static str, document: &Document) -> Result<T, Error> {
    serde_json::from_slice(&document.value).map_err(|error| Error::Document {
        collection,
        key: document.key.clone(),
        reason: error.to_string(),
    })
}

pub(crate) async fn read_one<T: DeserializeOwned>(
    store: &dyn Store,
    collection: &'static str,
    key: &str,
) -> Result<Option<T>, Error> {
    store.document(collection, key).await?.map(|document| read(collection, &document)).transpose()
}

pub(crate) fn put(collection: &'static str, key: &str, value: &impl Serialize) -> Result<DocumentWrite, Error> {
    let value = serde_json::to_vec(value).map_err(|error| Error::Document {
        collection,
        key: key.to_owned(),
        reason: error.to_string(),
    })?;
    Ok(DocumentWrite::put(collection, key, value))
}

/// The first letter in a log of dead letters that is parked, or given back and not handed out. What lies before it may go.
/// Letters that come while this looks lie beyond what was there before.
pub(crate) async fn first_letter_needed(store: &dyn Store, letters: &LogName) -> Result<Option<Offset>, Error> {
    let Some(topic) = letters.topic.letters_of() else {
        return Ok(None);
    };
    let of_keys = least(store, KEYS, &topic, |document| {
        read::<ParkedKeyDocument>(KEYS, document).map(|key| key.letters_from.get(&letters.partition).copied())
    });
    let of_gates = least(store, GATES, &topic, |document| {
        read::<Gate>(GATES, document).map(|gate| gate.letters_from.get(&letters.partition).copied())
    });
    Ok([of_keys.await?, of_gates.await?].into_iter().flatten().min())
}

async fn least(
    store: &dyn Store,
    collection: &'static str,
    topic: &TopicName,
    offset_of: impl Fn(&Document) -> Result<Option<Offset>, Error>,
) -> Result<Option<Offset>, Error> {
    let (mut after, mut least) = (format!("{topic}/"), None);
    loop {
        let page = store.documents(collection, Some(&after), DOCUMENTS_AT_ONCE).await?;
        for document in &page {
            if below(topic, &document.key).is_none() {
                return Ok(least);
            }
            let offset = offset_of(document)?;
            least = least.into_iter().chain(offset).min();
        }
        match page.last() {
            Some(last) if page.len() == DOCUMENTS_AT_ONCE => after.clone_from(&last.key),
            _ => return Ok(least),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_documents_sort_by_offset_and_tell_it() {
        let log = LogName::new(TopicName::parse("a.b").unwrap(), 12);
        let gate = gate_key(&CursorName::new(log, GroupName::parse("g:1").unwrap()));
        assert_eq!(gate, "a.b/00012/g:1");
        assert_eq!(log_of(&gate, &GroupName::parse("g:1").unwrap()).unwrap().to_string(), "a.b/12");
        assert_eq!(log_of(&gate, &GroupName::parse("g").unwrap()), None);
        let keys: Vec<String> = [0, 9, 10, Offset::MAX].map(|offset| mark_key(&gate, offset)).into();
        assert!(keys.is_sorted());
        assert_eq!(offset_below(&gate, &keys[2]), Some(10));
        assert_eq!(offset_below("a.b/00012/g", &keys[2]), None, "another group");
        let hash = parked_key_key(&gate, 255);
        assert_eq!(hash_below(&gate, &hash), Some(255));
        assert_eq!(parked_letter_key(&gate, 255, 10), mark_key(&hash, 10));
    }

    #[test]
    fn what_became_of_a_letter_follows_from_the_last_time_that_it_was_given_back() {
        let letter = EventId::derived("letter");
        let mark = |state, time, next| GivenMark {
            state,
            time,
            letter,
            place: None,
            event: letter,
            key: None,
            parked: false,
            by: None,
            given_ts: 1,
            settled_ts: Some(2),
            failures: CountedFailures { attempts: 3, ..CountedFailures::default() },
            next,
        };
        let next = EventId::derived("next");
        let waiting = mark(MarkState::Waiting, 2, None);
        assert_eq!(waiting.outcome_of(0), LetterOutcome::DeadAgain { time: 1, letter });
        assert_eq!(waiting.outcome_of(1), LetterOutcome::Waiting { time: 2, failed_attempts: 3 });
        assert_eq!(waiting.outcome_of(2), LetterOutcome::NotGivenBack);
        let dead = mark(MarkState::Dead, 1, Some(next));
        assert_eq!(dead.outcome_of(0), LetterOutcome::DeadAgain { time: 1, letter: next });
        assert_eq!(mark(MarkState::Acked, 1, None).outcome_of(0), LetterOutcome::Acked { time: 1, at: 2 });
        let text = serde_json::to_string(&waiting).unwrap();
        assert_eq!(serde_json::from_str::<GivenMark>(&text).unwrap(), waiting, "{text}");
    }
}
