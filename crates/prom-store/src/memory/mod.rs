//! The memory store: every promise of the contract except durability. For tests, and for hubs whose events may be lost
//! with the process.
//!
//! One lock guards everything and is never held across an await. A commit is checked, then placed (offsets, times,
//! duplicates), then applied. Only the first two steps can refuse it.

mod commit;
mod compact;
mod cursor;
mod document;
mod find;
mod lease;
mod log;
mod read;
mod recent_ids;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use prom_types::{Durability, Offset};

use crate::{
    Bounds, Clock, Commit, CommitError, CompactPlan, CompactReport, DocumentListeners, Find, HeadWatch, LeaseTable,
    LogInfo, LogName, Logs, PendingCommit, ReadBatch, ReadLimit, Record, Store, StoreError,
};
pub use compact::ACTIVE_EVENTS;
use cursor::MemoryCursors;
use document::DocumentTable;
use log::MemoryLog;
use watch::Heads;

/// Logs, cursors, documents and leases in memory.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    state: Mutex<MemoryState>,
}

#[derive(Default)]
struct MemoryState {
    logs: BTreeMap<LogName, MemoryLog>,
    cursors: MemoryCursors,
    documents: DocumentTable,
    leases: LeaseTable,
    heads: Heads,
    listeners: DocumentListeners,
    closed: bool,
}

impl MemoryStore {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default() }
    }

    /// The state, unless the store was closed.
    fn open_state(&self) -> Result<MutexGuard<'_, MemoryState>, StoreError> {
        let state = self.state.lock();
        if state.closed { Err(StoreError::Closed) } else { Ok(state) }
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn commit(&self, commit: Commit) -> PendingCommit {
        let mut state = self.state.lock();
        PendingCommit::known(if state.closed {
            Err(CommitError::Closed)
        } else {
            state.commit(commit, self.clock.now_ms())
        })
    }

    fn durability(&self) -> Durability {
        Durability::Memory
    }

    async fn close(&self) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        let listeners = std::mem::take(&mut state.listeners);
        listeners.close();
        *state = MemoryState { closed: true, listeners, ..MemoryState::default() };
        Ok(())
    }
}

#[async_trait]
impl Logs for MemoryStore {
    async fn read(&self, log: &LogName, from: Offset, limit: ReadLimit) -> Result<ReadBatch, StoreError> {
        let state = self.open_state()?;
        Ok(state.logs.get(log).map(|log| log.read(from, limit)).unwrap_or_default())
    }

    async fn bounds(&self, log: &LogName) -> Result<Bounds, StoreError> {
        let state = self.open_state()?;
        Ok(state.logs.get(log).map(MemoryLog::bounds).unwrap_or_default())
    }

    fn watch(&self, log: &LogName) -> HeadWatch {
        let mut state = self.state.lock();
        let bounds = state.logs.get(log).map(MemoryLog::bounds).unwrap_or_default();
        if state.closed { Heads::default().watch(log, bounds) } else { state.heads.watch(log, bounds) }
    }

    async fn find(&self, log: &LogName, what: Find) -> Result<Option<Offset>, StoreError> {
        let state = self.open_state()?;
        Ok(state.logs.get(log).and_then(|log| log.find(what)))
    }

    async fn latest_by_key(&self, log: &LogName, keys: &[&str]) -> Result<Vec<Option<Record>>, StoreError> {
        let state = self.open_state()?;
        match state.logs.get(log) {
            Some(found) if found.options().keeps_latest() => Ok(keys.iter().map(|key| found.latest(key)).collect()),
            _ => Err(StoreError::NotCompacted { log: log.clone() }),
        }
    }

    async fn trim(&self, log: &LogName, before: Offset) -> Result<Bounds, StoreError> {
        let now = self.clock.now_ms();
        let mut state = self.open_state()?;
        let Some(found) = state.logs.get_mut(log) else {
            return Ok(Bounds::default());
        };
        found.trim(before, now);
        let bounds = found.bounds();
        state.heads.tell(log, bounds);
        Ok(bounds)
    }

    async fn compact(&self, log: &LogName, plan: CompactPlan<'_>) -> Result<CompactReport, StoreError> {
        let now = self.clock.now_ms();
        let not_compacted = || StoreError::NotCompacted { log: log.clone() };
        {
            let mut state = self.open_state()?;
            let found = state.logs.get_mut(log).filter(|found| found.options().compacted).ok_or_else(not_compacted)?;
            // Under one lock, so that nothing goes that was not announced.
            if plan.announce.is_none() || !found.has_compactable(plan, now) {
                return Ok(found.compact(plan, now));
            }
        }
        if let Some(announce) = plan.announce
            && !announce.may_remove().await
        {
            return Ok(CompactReport::default());
        }
        let mut state = self.open_state()?;
        let found = state.logs.get_mut(log).filter(|found| found.options().compacted).ok_or_else(not_compacted)?;
        Ok(found.compact(plan, now))
    }

    async fn logs(&self) -> Result<Vec<LogInfo>, StoreError> {
        let state = self.open_state()?;
        let listed = state.logs.iter().filter(|(_, log)| !log.is_ended());
        Ok(listed.map(|(name, log)| log.info(name)).collect())
    }
}
