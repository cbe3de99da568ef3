//! Moving events from memory into segments, sealing segments that are full, and keeping the cache small.

use std::sync::Arc;

use prom_store::StoreError;

use super::BackgroundWorker;
use crate::fault::{io, is_missing};
use crate::log::{Chunk, Log};
use crate::segment::Segment;

/// A segment's table of ids counts offsets from its base in 31 bits. A log may leave offsets empty.
const MOST_OFFSETS: u64 = 1 << 31;

impl BackgroundWorker {
    pub(super) fn fill(&mut self) -> Result<(), StoreError> {
        if self.shared.health.lock().broken.is_some() {
            return Ok(());
        }
        let logs: Vec<Arc<Log>> = self.shared.logs.read().values().cloned().collect();
        for log in &logs {
            self.fill_log(log)?;
        }
        let unfilled = logs.iter().map(|log| log.state.lock().tail.unfilled_bytes()).sum();
        self.shared.background.set_unfilled(unfilled);
        self.evict();
        Ok(())
    }

    fn fill_log(&mut self, log: &Arc<Log>) -> Result<(), StoreError> {
        let (chunks, id, seal_early) = {
            let mut state = log.state.lock();
            if state.tail.unfilled_bytes() == 0 && !state.seal_early {
                return Ok(());
            }
            (state.tail.unfilled(), state.id, std::mem::take(&mut state.seal_early))
        };
        let Some(id) = id else {
            return Ok(());
        };
        for chunk in &chunks {
            let mut segment = self.active(log, id, chunk)?;
            let mut appended = segment.append(&self.shared.files, chunk, &self.shared.options.sizes);
            if appended.as_ref().is_err_and(is_missing) {
                segment.abandon();
                segment = self.active(log, id, chunk)?;
                appended = segment.append(&self.shared.files, chunk, &self.shared.options.sizes);
            }
            appended?;
            self.note_unsynced(&segment, id);
            let mut state = log.state.lock();
            state.tail.filled(chunk.end());
            state.dirty = true;
            drop(state);
            self.cached.push_back((log.clone(), chunk.len_bytes()));
            self.cached_bytes += chunk.len_bytes();
        }
        // The log may have been trimmed while its events were on their way into segments.
        if seal_early || log.state.lock().is_active_emptied() {
            self.seal_active(log)?;
        }
        if log.state.lock().emptied().next().is_some() {
            self.shared.background.request(|work| work.checkpoint = true);
        }
        Ok(())
    }

    /// The segment that takes this chunk: the last one, or a new one if that is full.
    fn active(&mut self, log: &Arc<Log>, id: u32, chunk: &Chunk) -> Result<Arc<Segment>, StoreError> {
        let last = log.state.lock().segments.last().cloned();
        if let Some(last) = last.filter(|last| !last.is_sealed()) {
            if !last.is_full(&self.shared.options.sizes) && chunk.end() - last.base <= MOST_OFFSETS {
                return Ok(last);
            }
            self.seal(&last, id)?;
        }
        let dir = self.shared.segments_dir(id);
        self.shared.options.disk.create_dir(&dir).map_err(io("making", &dir))?;
        self.write_name(log, &dir)?;
        let segment = Arc::new(Segment::new(&dir, chunk.base(), 0));
        let mut state = log.state.lock();
        state.segments.push(segment.clone());
        state.dirty = true;
        Ok(segment)
    }

    fn seal_active(&mut self, log: &Arc<Log>) -> Result<(), StoreError> {
        let (last, id) = {
            let state = log.state.lock();
            (state.segments.last().cloned(), state.id)
        };
        match (last.filter(|last| !last.is_sealed() && last.end() > last.base), id) {
            (Some(last), Some(id)) => self.seal(&last, id),
            _ => Ok(()),
        }
    }

    fn seal(&mut self, segment: &Arc<Segment>, id: u32) -> Result<(), StoreError> {
        match segment.seal(&self.shared.files, &self.shared.options.sizes) {
            Err(error) if is_missing(&error) => segment.abandon(),
            sealed => {
                sealed?;
                self.note_unsynced(segment, id);
            }
        }
        Ok(())
    }

    fn note_unsynced(&mut self, segment: &Arc<Segment>, id: u32) {
        if !self.unsynced.contains_key(&segment.path) {
            self.unsynced.insert(segment.path.clone(), (segment.clone(), id));
        }
    }

    /// Lets go of cached chunks, oldest first, until the cache is within its limit.
    fn evict(&mut self) {
        while self.cached_bytes > self.shared.options.sizes.cache
            && let Some((log, bytes)) = self.cached.pop_front()
        {
            let evicted = log.state.lock().tail.evict_oldest();
            evicted.into_iter().for_each(|memory| self.shared.buffers.give(memory));
            self.cached_bytes -= bytes;
        }
    }
}
