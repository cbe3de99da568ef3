//! A checkpoint: everything behind the journal is made durable up to a frame, and the journal before it is freed.
//!
//! Order matters: segments first, then the database with the frame's number in the same batch, then
//! the journal files. A crash in between leaves the older checkpoint and the journal to apply again.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use prom_store::StoreError;

use super::{BackgroundWorker, Unsynced, manifest};
use crate::disk::DiskFile;
use crate::documents::keys;
use crate::fault::io;
use crate::log::Log;
use crate::options::Sync;

impl BackgroundWorker {
    pub(super) fn checkpoint(&mut self) -> Result<(), StoreError> {
        if self.shared.health.lock().broken.is_some() {
            return Ok(());
        }
        let shared = self.shared.clone();
        self.drop_emptied();
        let (frame, dropped) = {
            let mut applied = shared.applied.lock();
            // The overlay takes the cursors in, so that a checkpoint that fails keeps them for the next.
            shared.state.put_all(shared.cursors.changes());
            (applied.frame, std::mem::take(&mut applied.dropped))
        };
        let unchanged = frame == self.reached && dropped.is_empty() && !self.any_dirty();
        if unchanged {
            // A frame that failed may have left files behind that claim nothing of their own.
            return shared.journal.release(frame).map_err(io("freeing journal files in", &shared.root));
        }
        let flushed = self.fill().and_then(|()| self.sync_segments()).and_then(|()| {
            self.forget_exact_ids(&dropped);
            self.forget_outdated_latest();
            self.flush(frame)
        });
        if let Err(error) = flushed {
            shared.applied.lock().dropped.extend(dropped);
            return Err(error);
        }
        self.reached = frame;
        shared.state.end_flush();
        shared.journal.release(frame).map_err(io("freeing journal files in", &shared.root))?;
        self.remove_segments(&dropped);
        Ok(())
    }

    fn any_dirty(&self) -> bool {
        self.shared.logs.read().values().any(|log| log.state.lock().dirty)
    }

    /// Changes after `frame` may go along: the journal has them too, and applying them twice changes nothing.
    fn flush(&mut self, frame: u64) -> Result<(), StoreError> {
        let shared = self.shared.clone();
        let (dirty, manifests, writes) = {
            // A compaction swaps segments and forgets keys under this lock: both or neither are seen here.
            let _cut = shared.applied.lock();
            let logs = shared.logs.read();
            let dirty: Vec<_> =
                logs.values().filter(|log| std::mem::take(&mut log.state.lock().dirty)).cloned().collect();
            let encode = |log: &Arc<Log>| manifest::encode(&log.name, &log.state.lock());
            let manifests: Vec<_> = dirty.iter().filter_map(encode).collect();
            (dirty, manifests, shared.state.begin_flush())
        };
        let reached = (keys::CHECKPOINT.to_vec(), Some(Bytes::copy_from_slice(&frame.to_le_bytes())));
        let changes = writes.iter().map(|(key, value)| (key.clone(), value.clone()));
        // After the cut: frames that came while the journal was synced are not in it.
        let flushed = self.sync_journal().and_then(|()| {
            shared.state.flush(changes.chain(manifests).chain([reached])).inspect_err(|_| {
                // The database refuses everything after an error. What it was to write is still in memory.
                if let Err(error) = shared.state.reopen() {
                    shared.health.lock().broken = Some(error.to_string());
                }
            })
        });
        if flushed.is_err() {
            dirty.iter().for_each(|log| log.state.lock().dirty = true);
        }
        flushed
    }

    /// What goes into the database must be in the journal first, also where commits do not wait for that.
    fn sync_journal(&self) -> Result<(), StoreError> {
        match self.shared.options.sync {
            Sync::Fsync => Ok(()),
            Sync::Os => self.shared.journal.sync_live().map_err(io("syncing", &self.shared.root)),
        }
    }

    /// After an error the file's contents are in doubt and stay so: the journal keeps everything, and
    /// the next start writes the segments again from it.
    fn sync_segments(&mut self) -> Result<(), StoreError> {
        let synced = self.sync_unsynced();
        if let Err(error) = &synced {
            self.shared.health.lock().broken = Some(error.to_string());
        }
        synced
    }

    fn sync_unsynced(&mut self) -> Result<(), StoreError> {
        let (unsynced, names) = (std::mem::take(&mut self.unsynced), std::mem::take(&mut self.unsynced_names));
        let many = unsynced.len() >= self.shared.options.sizes.sync_whole_from;
        match self.whole.as_ref().filter(|_| many) {
            Some(whole) => whole.sync().map_err(io("syncing the file system of", &self.shared.root)),
            None => self.sync_each(unsynced, &names),
        }
    }

    fn sync_each(&self, unsynced: Unsynced, names: &[Arc<dyn DiskFile>]) -> Result<(), StoreError> {
        names.iter().try_for_each(|name| name.sync_data()).map_err(io("syncing a name in", &self.shared.root))?;
        let mut dirs: HashSet<PathBuf> = HashSet::new();
        for (segment, id) in unsynced.into_values() {
            segment.sync(&self.shared.files)?;
            dirs.insert(self.shared.segments_dir(id));
        }
        if dirs.is_empty() {
            return Ok(());
        }
        dirs.insert(self.shared.root.join("segments"));
        for dir in dirs {
            self.shared.options.disk.sync_dir(&dir).map_err(io("syncing", &dir))?;
        }
        Ok(())
    }
}
