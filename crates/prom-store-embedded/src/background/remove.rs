//! Removing what no checkpoint refers to any more.

use std::sync::Arc;

use prom_store::StoreError;

use super::BackgroundThread;
use crate::documents::keys;
use crate::segment::Segment;

impl BackgroundThread {
    /// Exact ids go with the events that had them. Runs before the checkpoint that forgets the segments.
    pub(super) fn forget_exact_ids(&mut self, dropped: &[Arc<Segment>]) -> Result<(), StoreError> {
        for segment in dropped.iter().filter(|segment| !segment.is_replaced()) {
            let Some(log) = log_of(segment) else {
                continue;
            };
            let forgotten = segment.exact_ids(&self.shared.files)?;
            self.shared
                .state
                .put_all(forgotten.into_iter().map(|id| (keys::exact(log, id), None)));
        }
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
}

/// Segments lie in a directory named by their log's number.
fn log_of(segment: &Segment) -> Option<u32> {
    segment.path.parent()?.file_name()?.to_str()?.parse().ok()
}
