//! A letter as it is read: the event that a group gave up on, and why.

use prom_engine::{LetterPlace, LetterRef, StoredEvent};
use prom_types::{EpochMs, EventId, GroupName, Json, Offset, TopicName};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::block::ReplayOutcome;

/// Where the letter is whose event this is, on an event that was handed out again.
pub const LETTER_HEADER: &str = "x-dead-letter";
/// How often an event was handed out again.
pub const REPLAYS_HEADER: &str = "x-replays";
/// Who changed the payload of an event that was handed out again.
pub const EDITED_HEADER: &str = "x-edited-by";

/// A dead letter.
#[derive(Debug, Clone)]
pub struct FoundLetter {
    /// The letter's id.
    pub id: EventId,
    /// Its partition among the letters.
    pub partition: u32,
    /// Its offset there.
    pub offset: Offset,
    /// When it was written.
    pub stored_ts: EpochMs,
    /// The group that gave up.
    pub group: GroupName,
    /// Why.
    pub err: String,
    /// The fingerprint that it is counted under.
    pub fingerprint: String,
    /// Failed attempts.
    pub attempts: u32,
    /// How often the event died, this time included.
    pub deaths: u16,
    /// The key of the event.
    pub key: Option<String>,
    /// The event as it was, whole.
    pub original: Json,
    /// How often the event had been given back to its group before.
    pub given_back: u16,
    /// What became of it since.
    pub replay: Option<LetterReplay>,
}

/// That a letter's event was handed out again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetterReplay {
    /// The job that did it. Empty where the event went on by itself, behind others of its parked key that were given back.
    pub job: String,
    /// Who began the job.
    pub by: Option<String>,
    /// When.
    pub at: EpochMs,
    /// Its payload was changed.
    pub edited: bool,
    /// How it went on.
    pub outcome: ReplayOutcome,
}

/// What a letter says.
#[derive(Deserialize)]
pub(crate) struct LetterText<'a> {
    #[serde(borrow)]
    pub group: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    pub original: &'a RawValue,
    #[serde(borrow)]
    pub err: std::borrow::Cow<'a, str>,
    #[serde(default)]
    pub attempts: u32,
    /// How often the event had been given back to its group before.
    #[serde(default)]
    pub given_back: u16,
}

/// What is needed of the original to find the letter it came from.
#[derive(Deserialize)]
pub(crate) struct OriginalHead {
    pub id: EventId,
    #[serde(default)]
    pub headers: OriginalHeaders,
    #[serde(default)]
    pub caused_by: Vec<EventId>,
}

#[derive(Default, Deserialize)]
pub(crate) struct OriginalHeaders {
    #[serde(rename = "x-dead-letter")]
    letter: Option<String>,
    #[serde(rename = "x-replays")]
    replays: Option<String>,
}

/// Where the original was.
#[derive(Deserialize)]
struct OriginalPlace {
    id: EventId,
    partition: u32,
    offset: Offset,
}

impl FoundLetter {
    /// As the engine names it; `None` where its original cannot be read.
    pub(crate) fn named(&self) -> Option<LetterRef> {
        let OriginalPlace { id, partition, offset } = self.original.to().ok()?;
        Some(LetterRef {
            letter: self.id,
            place: LetterPlace { partition: self.partition, offset: self.offset },
            group: self.group.clone(),
            partition,
            offset,
            event: id,
            key: self.key.clone(),
            given_back: u32::from(self.given_back),
        })
    }
}

impl<'a> LetterText<'a> {
    pub fn read(payload: &'a Json) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(payload.as_bytes())
    }

    pub fn head(&self) -> Option<OriginalHead> {
        serde_json::from_str(self.original.get()).ok()
    }
}

impl OriginalHead {
    /// The letter that this was handed out from: its id, and where it says that it is.
    pub fn came_from(&self) -> Option<(EventId, u32, Offset)> {
        let letter = *self.caused_by.last()?;
        if self.id != republished_id(letter) {
            return None;
        }
        let (partition, offset) = self.headers.letter.as_deref()?.split_once('/')?;
        Some((letter, partition.parse().ok()?, offset.parse().ok()?))
    }

    /// How often it was handed out again.
    pub fn replays(&self) -> u16 {
        self.headers.replays.as_deref().and_then(|count| count.parse().ok()).unwrap_or(0)
    }
}

/// The id under which a letter's event is published again: the same each time, so that it is stored once.
pub(crate) fn republished_id(letter: EventId) -> EventId {
    EventId::derived(&format!("replay:{letter}"))
}

/// The topic whose letters these are.
pub(crate) fn letters_of(topic: &TopicName) -> Result<TopicName, prom_types::Invalid> {
    topic.dead_letters().ok_or_else(|| prom_types::Invalid::ReservedTopic { name: topic.to_string() })
}

/// The letter without what the index knows of it.
pub(crate) fn read_letter(event: &StoredEvent) -> Option<FoundLetter> {
    let payload = event.json();
    let text = LetterText::read(&payload).ok()?;
    let original = payload.as_bytes();
    // Within the payload: it was checked with it.
    let at = text.original.get().as_ptr() as usize - original.as_ptr() as usize;
    let bytes = payload.clone().into_bytes().slice(at..at + text.original.get().len());
    Some(FoundLetter {
        id: event.id(),
        partition: event.partition(),
        offset: event.offset(),
        stored_ts: event.stored_ts(),
        group: GroupName::parse(&text.group).ok()?,
        err: text.err.clone().into_owned(),
        fingerprint: String::new(),
        attempts: text.attempts,
        deaths: 1,
        key: event.key().map(str::to_owned),
        original: Json::trusted(bytes),
        given_back: text.given_back,
        replay: None,
    })
}
