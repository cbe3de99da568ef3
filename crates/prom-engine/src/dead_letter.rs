//! Dead letters: the event a group gave up on, whole, with the reason, on `dlq.<topic>`.
//!
//! The id follows from the group and the event with its offset, so that writing a letter twice stores it once. The offset
//! counts because an id may come again after the dedupe window, for another event.

use prom_store::{CursorName, Record};
use prom_types::{EpochMs, EventId, Json, NewEvent, TopicName};

use crate::dispatch::Dead;
use crate::{Bus, Error};

/// An event on its way to the dead letters.
pub(crate) struct Letter {
    pub record: Record,
    pub reason: String,
    pub attempts: u32,
}

/// The letter as an event: `{topic, group, original, err, ts, attempts}` under the original's key.
pub(crate) fn event(cursor: &CursorName, letter: &Letter, topic: TopicName, now: EpochMs) -> NewEvent {
    let (log, group) = (&cursor.log, &cursor.group);
    let (offset, id) = (letter.record.offset(), letter.record.id());
    let id = format!("dlq:{group}:{}:{}:{offset}:{id}", log.topic, log.partition);
    let mut payload = Vec::with_capacity(letter.record.len() + 512);
    payload.extend_from_slice(b"{\"topic\":\"");
    payload.extend_from_slice(log.topic.as_bytes());
    payload.extend_from_slice(b"\",\"group\":\"");
    payload.extend_from_slice(group.as_bytes());
    payload.extend_from_slice(b"\",\"original\":");
    letter.record.write_json(log, &mut payload);
    payload.extend_from_slice(b",\"err\":");
    payload.extend_from_slice(serde_json::Value::from(letter.reason.as_str()).to_string().as_bytes());
    payload.extend_from_slice(format!(",\"ts\":{now},\"attempts\":{}}}", letter.attempts).as_bytes());
    NewEvent {
        id: Some(EventId::derived(&id)),
        exact: true,
        key: letter.record.key().map(str::to_owned),
        ..NewEvent::new(topic, Json::trusted(payload.into()))
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
