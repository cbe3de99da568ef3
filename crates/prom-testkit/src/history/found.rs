//! The contents of a store, read through the store traits.

use std::collections::{BTreeMap, BTreeSet};

use prom_store::{Bounds, CursorName, CursorState, Damage, LogName, ReadLimit, Store, StoreError};
use prom_types::{EventId, GroupName, Offset};
use serde::Deserialize;

/// An event in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundEvent {
    pub offset: Offset,
    pub id: EventId,
}

/// Everything the judge needs.
#[derive(Debug, Clone, Default)]
pub struct StoreContents {
    /// In read order, without the hub's own topics.
    pub logs: BTreeMap<LogName, Vec<FoundEvent>>,
    pub bounds: BTreeMap<LogName, Bounds>,
    pub cursors: BTreeMap<CursorName, CursorState>,
    /// Events that a group gave up on, by the group's name and the event's id.
    pub letters: BTreeSet<(GroupName, EventId)>,
    pub damage: Vec<Damage>,
}

/// The part of a dead letter that names the original.
#[derive(Deserialize)]
struct Letter {
    group: String,
    original: Original,
}

#[derive(Deserialize)]
struct Original {
    id: EventId,
}

impl StoreContents {
    /// Reads every log from its start, and every cursor.
    pub async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let mut found = Self::default();
        for info in store.logs().await? {
            found.read_log(store, &info.log).await?;
        }
        found.cursors = store.cursors(None).await?.into_iter().collect();
        Ok(found)
    }

    async fn read_log(&mut self, store: &dyn Store, log: &LogName) -> Result<(), StoreError> {
        let mut events = Vec::new();
        let mut from = 0;
        loop {
            let batch = store.read(log, from, ReadLimit::default()).await?;
            for record in &batch.records {
                events.push(FoundEvent { offset: record.offset(), id: record.id() });
                if log.topic.is_dead_letters() {
                    self.read_letter(record.payload().as_bytes());
                }
            }
            self.damage.extend(batch.damage);
            if batch.next >= batch.bounds.next || batch.next <= from {
                self.bounds.insert(log.clone(), batch.bounds);
                break;
            }
            from = batch.next;
        }
        if !log.topic.is_reserved() {
            self.logs.insert(log.clone(), events);
        }
        Ok(())
    }

    fn read_letter(&mut self, payload: &[u8]) {
        let letter = serde_json::from_slice::<Letter>(payload).ok();
        let group = letter.as_ref().and_then(|it| GroupName::parse(&it.group).ok());
        if let (Some(letter), Some(group)) = (letter, group) {
            self.letters.insert((group, letter.original.id));
        }
    }
}
