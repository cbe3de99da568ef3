//! Dead letters: the event a group gave up on, whole, with the reason, on `dlq.<topic>`.
//!
//! The id follows from the group, the event's place, and how often the event was given back, so that writing a letter twice
//! stores it once. An offset is never used twice, so the place is the event.

use prom_store::{CursorName, Record};
use prom_types::{EpochMs, Event, EventId, GroupName, Invalid, Json, NewEvent, Offset, TopicName, partition_of};
use serde_json::json;

use crate::dispatch::Dead;
use crate::{Bus, Error, UnitOfWork};

/// An event on its way to the dead letters.
pub(crate) struct Letter {
    pub record: Record,
    pub reason: String,
    pub attempts: u32,
    /// How often the event had been given back to the group.
    pub given_back: u32,
}

/// The letter as an event: `{topic, group, original, err, ts, attempts}` under the original's key, and `given_back` where
/// the event had been given back.
pub(crate) fn event(cursor: &CursorName, letter: &Letter, topic: TopicName, now: EpochMs) -> NewEvent {
    let (log, group) = (&cursor.log, &cursor.group);
    let mut payload = Vec::with_capacity(letter.record.len() + 512);
    payload.extend_from_slice(b"{\"topic\":\"");
    payload.extend_from_slice(log.topic.as_bytes());
    payload.extend_from_slice(b"\",\"group\":\"");
    payload.extend_from_slice(group.as_bytes());
    payload.extend_from_slice(b"\",\"original\":");
    letter.record.write_json(log, &mut payload);
    payload.extend_from_slice(b",\"err\":");
    payload.extend_from_slice(serde_json::Value::from(letter.reason.as_str()).to_string().as_bytes());
    payload.extend_from_slice(format!(",\"ts\":{now},\"attempts\":{}", letter.attempts).as_bytes());
    if letter.given_back > 0 {
        payload.extend_from_slice(format!(",\"given_back\":{}", letter.given_back).as_bytes());
    }
    payload.push(b'}');
    NewEvent {
        id: Some(id_of(cursor, letter.record.offset(), letter.given_back)),
        exact: true,
        key: letter.record.key().map(str::to_owned),
        ..NewEvent::new(topic, Json::trusted(payload.into()))
    }
}

/// The id of the letter that a group writes of an event which was given back so often.
pub(crate) fn id_of(cursor: &CursorName, offset: Offset, given_back: u32) -> EventId {
    let CursorName { log, group } = cursor;
    EventId::derived(&format!("dlq:{group}:{}:{}:{offset}:{given_back}", log.topic, log.partition))
}

/// How the error of a letter begins whose event never failed: another one of its parked key did.
pub const PARKED_BEHIND: &str = "parked behind ";

/// Why an event went to the dead letters that never failed.
pub(crate) fn parked_behind(event: EventId) -> String {
    format!("{PARKED_BEHIND}{event}")
}

impl UnitOfWork {
    /// Adds a dead letter of an event that never came into its topic: what it was to be, who gave up on it, and why. Its id follows
    /// from the event's, so that the same letter is stored once.
    pub fn publish_letter(&mut self, by: &GroupName, event: &NewEvent, reason: &str) -> Result<(), Error> {
        let no_letters = || Invalid::ReservedTopic { name: event.topic.to_string() };
        let letters = event.topic.dead_letters().ok_or_else(no_letters)?;
        let (id, now) = (event.id.unwrap_or_else(|| self.new_id()), self.now_ms());
        let partitions = self.partitions_of(&event.topic);
        let original = Event {
            id,
            ts: event.ts.unwrap_or(now),
            stored_ts: now,
            topic: event.topic.clone(),
            partition: event.key.as_ref().map_or(0, |key| partition_of(key, partitions)),
            offset: 0,
            key: event.key.clone(),
            sid: event.sid.clone(),
            headers: event.headers.clone(),
            caused_by: event.caused_by.clone(),
            tags: event.tags.clone(),
            payload: event.payload.clone(),
        };
        let letter = json!({
            "topic": event.topic.as_str(), "group": by.as_str(), "original": original, "err": reason, "ts": now, "attempts": 1,
        });
        let letter = NewEvent {
            id: Some(EventId::derived(&format!("dlq:{by}:{}:{id}", event.topic))),
            exact: true,
            key: event.key.clone(),
            ..NewEvent::new(letters.clone(), Json::from_value(&letter)?)
        };
        self.publish_own(letters, &letter)
    }
}

impl Bus {
    /// How many letters of a topic are retained.
    pub(crate) async fn count_letters(&self, topic: &TopicName) -> Result<u64, Error> {
        let letters = topic.dead_letters().and_then(|letters| self.core().topics.get(&letters));
        let mut count = 0;
        for log in letters.iter().flat_map(|letters| letters.logs()) {
            let bounds = self.store().bounds(log).await?;
            count += bounds.next.saturating_sub(bounds.start);
        }
        Ok(count)
    }
}

/// What people read when they ask why.
pub(crate) fn reason(dead: &Dead) -> String {
    match &dead.reason {
        Some(reason) => reason.clone(),
        None => format!("gave up after {} attempts and {} returns", dead.attempts, dead.returns),
    }
}
