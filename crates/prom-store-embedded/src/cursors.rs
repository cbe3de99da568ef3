//! Cursors in memory: those in use, the rest in the database.

use std::collections::HashMap;

use bytes::Bytes;
use parking_lot::Mutex;
use prom_store::{CursorName, CursorState, StoreError};
use prom_types::TopicName;

use crate::codec::{Malformed, Put, Take};
use crate::documents::{DocumentState, keys};
use crate::fault;
use crate::journal::CursorStep;
use crate::journal::entry::{put_failures, take_failures};

/// Cursors that were touched lately. `None` is a deleted one.
#[derive(Default)]
pub(crate) struct EmbeddedCursors {
    touched: Mutex<HashMap<CursorName, Touched>>,
}

struct Touched {
    state: Option<CursorState>,
    /// Changed since the last checkpoint.
    dirty: bool,
    /// Used since the last checkpoint; otherwise it may leave memory.
    used: bool,
}

impl EmbeddedCursors {
    pub(crate) fn get(&self, documents: &DocumentState, name: &CursorName) -> Result<Option<CursorState>, StoreError> {
        self.with(documents, name, |touched| touched.state.clone())
    }

    /// The current epoch; `None` where there is no such cursor.
    pub(crate) fn epoch(&self, documents: &DocumentState, name: &CursorName) -> Result<Option<u64>, StoreError> {
        self.with(documents, name, |touched| touched.state.as_ref().map(|state| state.epoch))
    }

    /// Applies a durable step. Applying it twice changes nothing.
    pub(crate) fn apply(
        &self,
        documents: &DocumentState,
        name: &CursorName,
        step: &CursorStep,
    ) -> Result<(), StoreError> {
        if let CursorStep::Deleted { first_epoch } = step {
            let stored = Bytes::copy_from_slice(&first_epoch.to_le_bytes());
            documents.put(keys::FIRST_EPOCH.to_vec(), Some(stored));
        }
        self.with(documents, name, |touched| {
            touched.dirty = true;
            advance(&mut touched.state, step);
        })
    }

    /// Where the epochs of new cursors begin: above every epoch of a deleted one.
    pub(crate) fn first_epoch(documents: &DocumentState) -> Result<u64, StoreError> {
        let stored = documents.get(keys::FIRST_EPOCH)?;
        Ok(stored.and_then(|bytes| Take::new(&bytes).u64().ok()).unwrap_or(0))
    }

    fn with<T>(
        &self,
        documents: &DocumentState,
        name: &CursorName,
        act: impl FnOnce(&mut Touched) -> T,
    ) -> Result<T, StoreError> {
        let mut table = self.touched.lock();
        if let Some(touched) = table.get_mut(name) {
            touched.used = true;
            return Ok(act(touched));
        }
        let stored = documents.get(&keys::cursor(name))?;
        let state = stored.map(|bytes| decode(&bytes)).transpose().map_err(fault::documents)?;
        let mut touched = Touched { state, dirty: false, used: true };
        let result = act(&mut touched);
        table.insert(name.clone(), touched);
        Ok(result)
    }

    pub(crate) fn list(
        &self,
        documents: &DocumentState,
        topic: Option<&TopicName>,
    ) -> Result<Vec<(CursorName, CursorState)>, StoreError> {
        let prefix = topic.map_or(keys::ALL_CURSORS.to_vec(), keys::cursors_of);
        let stored = documents.scan(&prefix, None, usize::MAX)?;
        let table = self.touched.lock();
        let mut found = Vec::with_capacity(stored.len());
        for (key, value) in stored {
            let name = keys::parse_cursor(&key).map_err(fault::documents)?;
            if !table.contains_key(&name) {
                found.push((name, decode(&value).map_err(fault::documents)?));
            }
        }
        let wanted = |name: &CursorName| topic.is_none_or(|topic| *topic == name.log.topic);
        for (name, touched) in table.iter().filter(|(name, _)| wanted(name)) {
            found.extend(touched.state.clone().map(|state| (name.clone(), state)));
        }
        drop(table);
        found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    /// For a checkpoint: what changed, encoded. Cursors that were not used since the last one leave memory.
    pub(crate) fn changes(&self) -> Vec<(Vec<u8>, Option<Bytes>)> {
        let mut table = self.touched.lock();
        table.retain(|_, touched| touched.dirty || touched.used);
        let mut changes = Vec::new();
        for (name, touched) in table.iter_mut() {
            touched.used = false;
            if std::mem::take(&mut touched.dirty) {
                changes.push((keys::cursor(name), touched.state.as_ref().map(encode)));
            }
        }
        changes
    }
}

fn advance(state: &mut Option<CursorState>, step: &CursorStep) {
    let fresh = |epoch: u64, floor: u64| CursorState { epoch, ..CursorState::at(floor) };
    match step {
        CursorStep::Created { epoch, floor } => {
            state.get_or_insert_with(|| fresh(*epoch, *floor));
        }
        CursorStep::Settled { epoch, settled, failures } => {
            if let Some(state) = state.as_mut().filter(|state| state.epoch == *epoch) {
                state.apply(settled, failures);
            }
        }
        CursorStep::Deleted { .. } => *state = None,
        CursorStep::Reset { epoch, floor } => *state = Some(fresh(*epoch, *floor)),
        CursorStep::Taken { epoch, floor_if_new } => {
            state.get_or_insert_with(|| CursorState::at(*floor_if_new)).epoch = *epoch;
        }
    }
}

fn encode(state: &CursorState) -> Bytes {
    let mut out = Vec::new();
    out.put_u64(state.epoch);
    out.put_u64(state.floor);
    out.put_u32(state.above.len() as u32);
    for range in state.above.iter() {
        out.put_u64(range.start);
        out.put_u64(range.end);
    }
    put_failures(&mut out, state.failures.iter().map(|(offset, failure)| (*offset, failure)), state.failures.len());
    out.into()
}

fn decode(bytes: &[u8]) -> Result<CursorState, Malformed> {
    let mut take = Take::new(bytes);
    let mut state = CursorState { epoch: take.u64()?, floor: take.u64()?, ..CursorState::default() };
    for _ in 0..take.u32()? {
        state.above.insert(take.u64()?..take.u64()?);
    }
    state.failures = take_failures(&mut take)?.into_iter().collect();
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prom_store::Failures;

    #[test]
    fn a_cursor_is_read_back_as_written() {
        let mut state = CursorState::at(4);
        state.epoch = 9;
        state.settle(6..9);
        state.failures.insert(5, Failures { attempts: 1, returns: 2, reason: None });
        assert_eq!(decode(&encode(&state)), Ok(state));
    }
}
