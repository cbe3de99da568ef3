//! Removing what no checkpoint refers to any more, and noticing what should be there.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use prom_store::StoreError;

use super::BackgroundWorker;
use super::name::NAME;
use crate::compact::offset_at;
use crate::documents::keys;
use crate::log::Log;
use crate::segment::Segment;

impl BackgroundWorker {
    /// Exact ids go with the events that had them. Runs before the checkpoint that forgets the segments.
    /// One that stays by mistake does no harm: a look-up by it finds no event.
    pub(super) fn forget_exact_ids(&mut self, dropped: &[Arc<Segment>]) {
        for segment in dropped.iter().filter(|segment| !segment.is_replaced()) {
            let Some(log) = log_of(segment) else {
                continue;
            };
            if let Err(error) = self.forget_exact_ids_of(log, segment) {
                tracing::warn!(segment = %segment.path.display(), %error, "exact ids of a dropped segment stay");
            }
        }
    }

    fn forget_exact_ids_of(&self, log: u32, segment: &Segment) -> Result<(), StoreError> {
        let mut forgotten = Vec::new();
        for (id, offset) in segment.exact_ids(&self.shared.files)? {
            let key = keys::exact(log, id);
            // The id may have been published again since its first event was trimmed.
            if offset_at(&self.shared, &key)? == Some(offset) {
                forgotten.push((key, None));
            }
        }
        self.shared.state.put_all(forgotten);
        Ok(())
    }

    /// The files of segments that the last checkpoint no longer mentions.
    pub(super) fn remove_segments(&mut self, dropped: &[Arc<Segment>]) -> Result<(), StoreError> {
        for segment in dropped {
            for path in [segment.path.clone(), segment.index_path(), segment.ids_path()] {
                self.shared.files.forget(&path);
                // A cache may never have been written, and an orphan costs room, not truth.
                if let Err(error) = self.shared.options.disk.remove(&path) {
                    tracing::debug!(path = %path.display(), %error, "not removed");
                }
            }
        }
        Ok(())
    }

    /// Compares the folders of all logs with what the logs know. Segments whose file is missing are damage. Files
    /// that no log knows were left behind by a crash: begun after the last checkpoint, or dropped and not yet removed.
    /// They take room and nothing else, so a failure here is not worth more than a line.
    pub(crate) fn look_through_folders(&mut self) {
        let shared = self.shared.clone();
        let _no_rewritten_copy_is_under_way = shared.compacting.lock();
        let logs: Vec<_> = shared.logs.read().values().cloned().collect();
        for log in logs {
            let (id, kept, dropped) = {
                // Under this lock a segment is either in its log or dropped; the next checkpoint looks into the
                // dropped ones once more before it removes them.
                let applied = shared.applied.lock();
                let state = log.state.lock();
                (state.id, state.segments.clone(), applied.dropped.clone())
            };
            let Some(dir) = id.map(|id| shared.segments_dir(id)) else {
                continue;
            };
            match shared.options.disk.list(&dir) {
                Ok(names) => self.look_through(&log, &dir, names.into_iter().collect(), &kept, &dropped),
                Err(error) => tracing::debug!(dir = %dir.display(), %error, "not looked through"),
            }
        }
    }

    fn look_through(
        &mut self,
        log: &Arc<Log>,
        dir: &Path,
        names: HashSet<String>,
        kept: &[Arc<Segment>],
        dropped: &[Arc<Segment>],
    ) {
        let is_there = |path: &Path| path.file_name().is_some_and(|name| names.contains(&*name.to_string_lossy()));
        for segment in kept.iter().filter(|segment| !is_there(&segment.path)) {
            let damage = segment.missing(segment.base);
            tracing::error!(log = %log.name, %damage, "events are lost");
            self.shared.damage.lock().push(damage);
        }
        let known: HashSet<_> = kept.iter().chain(dropped).map(|segment| segment.path.with_extension("")).collect();
        for name in names.iter().filter(|name| *name != NAME) {
            let path = dir.join(name);
            if !known.contains(&path.with_extension(""))
                && let Err(error) = self.shared.options.disk.remove(&path)
            {
                tracing::debug!(name, %error, "an orphaned file stays");
            }
        }
        if !names.is_empty()
            && let Err(error) = self.write_name(log, dir)
        {
            tracing::debug!(log = %log.name, %error, "a folder of segments has no name");
        }
    }
}

/// Segments lie in a directory named by their log's number.
fn log_of(segment: &Segment) -> Option<u32> {
    segment.path.parent()?.file_name()?.to_str()?.parse().ok()
}
