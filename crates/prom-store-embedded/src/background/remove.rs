//! Removing what no checkpoint refers to any more, and noticing what should be there.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use prom_store::{LogName, StoreError};
use prom_types::{EpochMs, EventId, Offset};

use super::BackgroundWorker;
use super::name::NAME;
use crate::codec::Take;
use crate::compact::{stored_place, stored_tombstones};
use crate::documents::keys;
use crate::log::Log;
use crate::segment::gone::Removal;
use crate::segment::{GoneIds, Segment};

/// Keys that are looked at together.
const KEYS_AT_ONCE: usize = 1024;

impl BackgroundWorker {
    /// Exact ids go with the events that had them. Runs before the checkpoint that forgets the segments.
    /// One that stays by mistake does no harm: a look-up by it finds no event.
    pub(super) fn forget_exact_ids(&mut self, dropped: &[Arc<Segment>]) {
        for segment in dropped.iter().filter(|segment| !segment.is_replaced()) {
            let id = log_of(segment);
            let log = self.shared.logs.read().values().find(|log| log.state.lock().id == id).cloned();
            let Some(log) = log.filter(|_| id.is_some()) else {
                continue;
            };
            if let Err(error) = self.forget_exact_ids_of(&log.name, segment) {
                tracing::warn!(segment = %segment.path.display(), %error, "exact ids of a dropped segment stay");
            }
            let keeps_latest = log.state.lock().options.keeps_latest();
            if let Some(id) = id.filter(|_| keeps_latest)
                && let Err(error) = self.forget_tombstones_of(id, segment)
            {
                tracing::warn!(segment = %segment.path.display(), %error, "deleted keys of a dropped segment stay known");
            }
        }
    }

    /// A key whose tombstone is gone is as one that never was. Other keys stay known: they were written.
    fn forget_tombstones_of(&self, log: u32, segment: &Segment) -> Result<(), StoreError> {
        let mut known = Vec::new();
        segment.for_each(&self.shared.files, |record| {
            if let Some(key) = record.key().filter(|_| record.is_tombstone()) {
                known.extend(stored_tombstones(record.offset()).map(|value| (keys::latest(log, key), value)));
            }
            Ok(())
        })?;
        self.shared.state.forget_unchanged(&known)
    }

    fn forget_exact_ids_of(&self, log: &LogName, segment: &Segment) -> Result<(), StoreError> {
        // An id may be published again since its first event was trimmed: then it has another place.
        let place =
            |(id, offset): (EventId, Offset)| (keys::exact(&log.topic, id), stored_place(log.partition, offset));
        let known: Vec<_> = segment.exact_ids(&self.shared.files)?.into_iter().map(place).collect();
        self.shared.state.forget_unchanged(&known)
    }

    /// Takes segments that hold nothing any more out of their logs; the ids of their events stay for the window. Ids
    /// whose window is over go.
    pub(super) fn drop_emptied(&mut self) {
        let now = self.shared.options.clock.now_ms();
        let logs: Vec<_> = self.shared.logs.read().values().cloned().collect();
        for log in logs {
            let (emptied, id, begun) = {
                let mut state = log.state.lock();
                let (begun, ended) = (state.begun, state.ended);
                let is_needed = |gone: &Arc<GoneIds>| !ended && gone.is_needed(now);
                let (needed, over) = std::mem::take(&mut state.gone).into_iter().partition(is_needed);
                state.gone = needed;
                state.dirty |= !over.is_empty();
                self.unneeded.extend(over.into_iter().map(|gone| gone.path.clone()));
                (state.emptied().cloned().collect::<Vec<_>>(), state.id, begun)
            };
            let Some(id) = id.filter(|_| !emptied.is_empty()) else {
                continue;
            };
            // Ids of a log that ended count as new.
            let remembered = emptied.iter().filter(|segment| segment.end() > begun);
            let gone: Vec<_> = remembered.filter_map(|segment| self.keep_ids(id, segment, now)).collect();
            let mut applied = self.shared.applied.lock();
            let mut state = log.state.lock();
            // A compaction may have replaced one of them meanwhile; the copy is dropped by the next checkpoint.
            let is_emptied = |segment: &mut Arc<Segment>| emptied.iter().any(|emptied| Arc::ptr_eq(emptied, segment));
            applied.dropped.extend(state.segments.extract_if(.., is_emptied));
            state.gone.extend(gone);
            state.dirty = true;
            drop(state);
            log.note_removal();
        }
    }

    /// Without the file the ids are forgotten early, which is no reason to keep a full disk full.
    fn keep_ids(&self, log: u32, segment: &Segment, now: EpochMs) -> Option<Arc<GoneIds>> {
        let ids = segment.recent_ids(&self.shared.files, now);
        let kept = ids.and_then(|ids| {
            let (disk, dir) = (&*self.shared.options.disk, self.shared.segments_dir(log));
            let write = |ids| GoneIds::write(disk, &dir, (segment.base, segment.generation), Removal::Trimmed, ids);
            (!ids.is_empty()).then(|| write(ids)).transpose()
        });
        kept.unwrap_or_else(|error| {
            tracing::error!(segment = %segment.path.display(), %error, "ids that retention removed are forgotten early");
            None
        })
        .map(Arc::new)
    }

    /// The files that the last checkpoint no longer mentions.
    pub(super) fn remove_segments(&mut self, dropped: &[Arc<Segment>]) {
        let of_segment = |segment: &Arc<Segment>| [segment.path.clone(), segment.index_path(), segment.ids_path()];
        let unneeded = std::mem::take(&mut self.unneeded);
        for path in dropped.iter().flat_map(of_segment).chain(unneeded) {
            self.shared.files.forget(&path);
            // A cache may never have been written, and an orphan costs room, not truth.
            if let Err(error) = self.shared.options.disk.remove(&path) {
                tracing::debug!(path = %path.display(), %error, "not removed");
            }
        }
        self.remove_ended_folders(dropped);
    }

    /// Documents no longer name the latest events of keys in logs that ended. Runs before the checkpoint that forgets the
    /// segments; what stays by mistake does no harm: there is no event at its offset.
    pub(super) fn forget_outdated_latest(&mut self) {
        let logs: Vec<_> = self.shared.logs.read().values().cloned().collect();
        for log in logs {
            let (id, begun) = {
                let mut state = log.state.lock();
                if !std::mem::take(&mut state.latest_outdated) {
                    continue;
                }
                (state.id, state.begun)
            };
            if let Some(id) = id
                && let Err(error) = self.forget_latest_before(id, begun)
            {
                tracing::warn!(log = %log.name, %error, "the latest events of a deleted topic stay named");
            }
        }
    }

    fn forget_latest_before(&self, log: u32, begun: Offset) -> Result<(), StoreError> {
        let prefix = keys::latest(log, "");
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = self.shared.state.scan(&prefix, after.as_deref(), KEYS_AT_ONCE)?;
            let Some((last, _)) = page.last() else {
                return Ok(());
            };
            after = Some(last.clone());
            let is_outdated = |(_, offset): &(Vec<u8>, Bytes)| Take::new(offset).u64().is_ok_and(|at| at < begun);
            let outdated: Vec<_> = page.into_iter().filter(is_outdated).collect();
            self.shared.state.forget_unchanged(&outdated)?;
        }
    }

    /// The folders of logs that ended and hold nothing. A log that begins anew makes its folder again.
    fn remove_ended_folders(&mut self, dropped: &[Arc<Segment>]) {
        let ids: HashSet<u32> = dropped.iter().filter_map(|segment| log_of(segment)).collect();
        if ids.is_empty() {
            return;
        }
        let logs: Vec<_> = self.shared.logs.read().values().cloned().collect();
        for log in logs {
            let state = log.state.lock();
            let is_over = state.ended && state.segments.is_empty() && state.gone.is_empty();
            let Some(id) = state.id.filter(|id| is_over && ids.contains(id)) else {
                continue;
            };
            drop(state);
            let (disk, dir) = (&self.shared.options.disk, self.shared.segments_dir(id));
            let name = dir.join(NAME);
            self.shared.files.forget(&name);
            if let Err(error) = disk.remove(&name).and_then(|()| disk.remove_dir(&dir)) {
                tracing::debug!(dir = %dir.display(), %error, "not removed");
            }
        }
    }

    /// Compares the folders of all logs with what the logs know. Segments whose file is missing are damage. Files
    /// that no log knows were left behind by a crash: begun after the last checkpoint, or dropped and not yet removed.
    /// They take room and nothing else, so a failure here is not worth more than a line.
    pub(crate) fn look_through_folders(&mut self) {
        let shared = self.shared.clone();
        let _no_rewritten_copy_is_under_way = shared.compacting.lock();
        let logs: Vec<_> = shared.logs.read().values().cloned().collect();
        for log in logs {
            let (id, kept, others) = {
                // Under this lock a segment is either in its log or dropped; the next checkpoint looks into the
                // dropped ones once more before it removes them.
                let applied = shared.applied.lock();
                let state = log.state.lock();
                let dropped = applied.dropped.iter().map(|segment| segment.path.clone());
                let others: Vec<_> = dropped.chain(state.gone.iter().map(|gone| gone.path.clone())).collect();
                (state.id, state.segments.clone(), others)
            };
            let Some(dir) = id.map(|id| shared.segments_dir(id)) else {
                continue;
            };
            match shared.options.disk.list(&dir) {
                Ok(names) => self.look_through(&log, &dir, names.into_iter().collect(), &kept, others),
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
        others: Vec<PathBuf>,
    ) {
        let is_there = |path: &Path| path.file_name().is_some_and(|name| names.contains(&*name.to_string_lossy()));
        for segment in kept.iter().filter(|segment| !is_there(&segment.path)) {
            self.shared.note_damage(&segment.missing(segment.base));
        }
        let of_segment = |segment: &Arc<Segment>| [segment.path.clone(), segment.index_path(), segment.ids_path()];
        let known: HashSet<_> = kept.iter().flat_map(of_segment).chain(others).collect();
        for name in names.iter().filter(|name| *name != NAME) {
            let path = dir.join(name);
            if !known.contains(&path)
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
