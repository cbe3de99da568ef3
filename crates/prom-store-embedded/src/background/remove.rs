//! Removing what no checkpoint refers to any more.

use std::collections::HashSet;
use std::sync::Arc;

use prom_store::StoreError;

use super::BackgroundWorker;
use crate::compact::offset_at;
use crate::documents::keys;
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

    /// Files that a crash left behind: begun after the last checkpoint, or dropped and not yet removed.
    /// They take room and nothing else, so a failure here is not worth more than a line.
    pub(crate) fn remove_orphans(&mut self) {
        let shared = self.shared.clone();
        let _no_rewritten_copy_is_under_way = shared.compacting.lock();
        let logs: Vec<_> = shared.logs.read().values().cloned().collect();
        for log in logs {
            let (id, known) = {
                // Under this lock a segment is either in its log or dropped; the next checkpoint looks into the
                // dropped ones once more before it removes them.
                let applied = shared.applied.lock();
                let state = log.state.lock();
                let kept = state.segments.iter().chain(&applied.dropped);
                let known: HashSet<_> = kept.map(|segment| segment.path.with_extension("")).collect();
                (state.id, known)
            };
            let Some(dir) = id.map(|id| shared.segments_dir(id)) else {
                continue;
            };
            let names = shared.options.disk.list(&dir).unwrap_or_else(|error| {
                tracing::debug!(dir = %dir.display(), %error, "not looked through for orphans");
                Vec::new()
            });
            for name in names {
                let path = dir.join(&name);
                if !known.contains(&path.with_extension(""))
                    && let Err(error) = shared.options.disk.remove(&path)
                {
                    tracing::debug!(name, %error, "an orphaned file stays");
                }
            }
        }
    }
}

/// Segments lie in a directory named by their log's number.
fn log_of(segment: &Segment) -> Option<u32> {
    segment.path.parent()?.file_name()?.to_str()?.parse().ok()
}
