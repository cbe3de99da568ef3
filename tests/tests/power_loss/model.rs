//! What a store should hold, in the simplest form, and the comparison with what it holds.

use std::collections::BTreeMap;

use bytes::Bytes;
use prom_store::{Bounds, CursorChange, CursorName, CursorState, Cursors, Documents, LogName, Logs, ReadLimit};
use prom_store_embedded::EmbeddedStore;
use prom_types::{EventId, Offset};

use super::plan::{COLLECTION, CommitPlan, PlanStep};

/// Everything a store holds.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub logs: BTreeMap<LogName, ModelLog>,
    pub cursors: BTreeMap<CursorName, CursorState>,
    /// Revision and value by key.
    pub documents: BTreeMap<String, (u64, Bytes)>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelLog {
    pub bounds: Bounds,
    pub compacted: bool,
    pub events: BTreeMap<Offset, ModelEvent>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModelEvent {
    pub id: EventId,
    pub key: Option<String>,
    pub payload: Bytes,
}

impl Model {
    /// Applies the step; returns where its events must be, and whether they are duplicates.
    pub fn apply(&mut self, step: &PlanStep) -> Vec<(Offset, bool)> {
        match step {
            PlanStep::Commit(plan) => self.commit(plan),
            PlanStep::Trim(log, before) => {
                let log = self.logs.entry(log.clone()).or_default();
                log.bounds.start = log.bounds.start.max(*before);
                log.events = log.events.split_off(before);
                Vec::new()
            }
            PlanStep::Take(cursor) => {
                self.cursors.entry(cursor.clone()).or_default().epoch += 1;
                Vec::new()
            }
        }
    }

    fn commit(&mut self, plan: &CommitPlan) -> Vec<(Offset, bool)> {
        for (name, options) in &plan.logs {
            self.logs.entry(name.clone()).or_default().compacted = options.compacted;
        }
        for (name, change) in &plan.cursors {
            self.change_cursor(name, change);
        }
        for (key, value) in &plan.documents {
            let revision = self.documents.get(key).map_or(0, |(revision, _)| *revision);
            match value {
                Some(value) => self.documents.insert(key.clone(), (revision + 1, value.clone())),
                None => self.documents.remove(key),
            };
        }
        let append = |(log, event): &(LogName, ModelEvent)| self.logs.entry(log.clone()).or_default().append(event);
        plan.events.iter().map(append).collect()
    }

    fn change_cursor(&mut self, name: &CursorName, change: &CursorChange) {
        match change {
            CursorChange::Settle { settled, failures, .. } => {
                self.cursors.entry(name.clone()).or_default().apply(settled, failures);
            }
            CursorChange::Reset { floor } => {
                let state = self.cursors.entry(name.clone()).or_default();
                *state = CursorState { epoch: state.epoch + 1, ..CursorState::at(*floor) };
            }
            CursorChange::Create { .. } | CursorChange::Delete => {}
        }
    }

    /// Reads all of a store.
    pub async fn read(store: &EmbeddedStore) -> Self {
        let mut found = Self::default();
        for info in store.logs().await.unwrap() {
            let mut log = ModelLog { bounds: info.bounds, compacted: info.options.compacted, ..ModelLog::default() };
            let mut from = 0;
            loop {
                let batch = store.read(&info.log, from, ReadLimit::default()).await.unwrap();
                assert_eq!(batch.damage, None, "damage in {}", info.log);
                for record in &batch.records {
                    let event = ModelEvent {
                        id: record.id(),
                        key: record.key().map(str::to_owned),
                        payload: Bytes::copy_from_slice(record.payload().as_bytes()),
                    };
                    assert!(record.offset() >= from, "{} goes back", info.log);
                    log.events.insert(record.offset(), event);
                }
                if batch.next >= info.bounds.next {
                    break;
                }
                assert!(batch.next > from, "{} makes no progress at {from}", info.log);
                from = batch.next;
            }
            found.logs.insert(info.log, log);
        }
        found.cursors = store.cursors(None).await.unwrap().into_iter().collect();
        let documents = store.documents(COLLECTION, None, usize::MAX).await.unwrap();
        found.documents = documents.into_iter().map(|it| (it.key, (it.revision, it.value))).collect();
        found
    }

    /// How `found` differs from this, if at all.
    pub fn difference(&self, found: &Self) -> Option<String> {
        if self.documents != found.documents {
            let (expected, found) = (&self.documents, &found.documents);
            return Some(format!("documents: expected {expected:?}, found {found:?}"));
        }
        if self.cursors != found.cursors {
            let (expected, found) = (&self.cursors, &found.cursors);
            return Some(format!("cursors: expected {expected:?}, found {found:?}"));
        }
        let names: Vec<_> = self.logs.keys().chain(found.logs.keys()).collect();
        let empty = ModelLog::default();
        names.into_iter().find_map(|name| {
            let expected = self.logs.get(name).unwrap_or(&empty);
            let found = found.logs.get(name).unwrap_or(&empty);
            expected.difference(found).map(|it| format!("{name}: {it}"))
        })
    }
}

impl ModelLog {
    fn append(&mut self, event: &ModelEvent) -> (Offset, bool) {
        let same_id = |(offset, stored): (&Offset, &ModelEvent)| (stored.id == event.id).then_some(*offset);
        if let Some(offset) = self.events.iter().find_map(same_id) {
            return (offset, true);
        }
        let offset = self.bounds.next;
        self.events.insert(offset, event.clone());
        self.bounds.next += 1;
        (offset, false)
    }

    /// The latest event of each key.
    pub fn latest(&self) -> BTreeMap<&str, Offset> {
        self.events.iter().filter_map(|(offset, event)| Some((event.key.as_deref()?, *offset))).collect()
    }

    fn difference(&self, found: &Self) -> Option<String> {
        if (self.bounds, self.compacted) != (found.bounds, found.compacted) {
            let (expected, found) = (self.bounds, found.bounds);
            return Some(format!("expected {expected:?}, found {found:?}"));
        }
        if !self.compacted {
            let missing = self.events.iter().find(|(offset, event)| found.events.get(offset) != Some(event));
            let added = found.events.keys().find(|offset| !self.events.contains_key(offset));
            let differs = missing.map(|(offset, _)| offset).or(added)?;
            return Some(format!("offset {differs} is not as it was stored"));
        }
        // Compaction may have dropped what a later event of the same key replaced, nothing else.
        let invented = found.events.iter().find(|(offset, event)| self.events.get(offset) != Some(event));
        let dropped = self.latest().into_values().find(|offset| !found.events.contains_key(offset));
        let differs = invented.map(|(offset, _)| *offset).or(dropped)?;
        Some(format!("compacted: offset {differs} is not as it was stored"))
    }
}
