//! Cursors in memory. A past epoch never becomes current again, even if the cursor is deleted and created again.

use std::collections::BTreeMap;

use async_trait::async_trait;
use hashbrown::HashMap;
use prom_types::{Offset, TopicName};

use super::MemoryStore;
use super::log::MemoryLog;
use crate::{CommitError, CursorChange, CursorName, CursorState, Cursors, StoreError};

#[derive(Default)]
pub(super) struct MemoryCursors {
    states: BTreeMap<CursorName, CursorState>,
    /// The first epoch of a new cursor: above that of every deleted one.
    first_epoch: u64,
}

impl MemoryCursors {
    /// Whether all changes, applied in this order, would be accepted.
    pub fn check(&self, changes: &[(CursorName, CursorChange)]) -> Result<(), CommitError> {
        let mut epochs: HashMap<&CursorName, Option<u64>> = HashMap::new();
        let mut first_epoch = self.first_epoch;
        for (name, change) in changes {
            let epoch = epochs.entry(name).or_insert_with(|| self.states.get(name).map(|state| state.epoch));
            match change {
                CursorChange::Create { .. } => *epoch = Some(epoch.unwrap_or(first_epoch)),
                CursorChange::Reset { .. } => *epoch = Some(epoch.map_or(first_epoch, |current| current + 1)),
                CursorChange::Delete => {
                    first_epoch = first_epoch.max(epoch.map_or(0, |current| current + 1));
                    *epoch = None;
                }
                CursorChange::Settle { epoch: given, .. } if *epoch != Some(*given) => {
                    return Err(CommitError::Fenced {
                        cursor: name.clone(),
                        given: *given,
                        current: epoch.unwrap_or(first_epoch),
                    });
                }
                CursorChange::Settle { .. } => {}
            }
        }
        Ok(())
    }

    /// Applies a checked change.
    pub fn apply(&mut self, name: CursorName, change: CursorChange) {
        match change {
            CursorChange::Create { floor } => {
                self.get_or_make(name, floor);
            }
            CursorChange::Settle { settled, failures, .. } => {
                if let Some(state) = self.states.get_mut(&name) {
                    state.apply(&settled, &failures);
                }
            }
            CursorChange::Reset { floor } => {
                let epoch = self.states.get(&name).map_or(self.first_epoch, |state| state.epoch + 1);
                let state = CursorState { epoch, ..CursorState::at(floor) };
                self.states.insert(name, state);
            }
            CursorChange::Delete => {
                if let Some(state) = self.states.remove(&name) {
                    self.first_epoch = self.first_epoch.max(state.epoch + 1);
                }
            }
        }
    }

    fn get_or_make(&mut self, name: CursorName, floor: Offset) -> &mut CursorState {
        let epoch = self.first_epoch;
        self.states.entry(name).or_insert_with(|| CursorState { epoch, ..CursorState::at(floor) })
    }
}

#[async_trait]
impl Cursors for MemoryStore {
    async fn take_cursor(&self, cursor: &CursorName, floor_if_new: Offset) -> Result<CursorState, StoreError> {
        let mut state = self.open_state()?;
        let begun = state.logs.get(&cursor.log).map_or(0, MemoryLog::begun);
        let taken = state.cursors.get_or_make(cursor.clone(), floor_if_new.max(begun));
        taken.epoch += 1;
        Ok(taken.clone())
    }

    async fn cursor(&self, cursor: &CursorName) -> Result<Option<CursorState>, StoreError> {
        Ok(self.open_state()?.cursors.states.get(cursor).cloned())
    }

    async fn cursors(&self, topic: Option<&TopicName>) -> Result<Vec<(CursorName, CursorState)>, StoreError> {
        let state = self.open_state()?;
        let wanted = |name: &CursorName| topic.is_none_or(|topic| name.log.topic == *topic);
        let found = state.cursors.states.iter().filter(|(name, _)| wanted(name));
        Ok(found.map(|(name, state)| (name.clone(), state.clone())).collect())
    }
}
