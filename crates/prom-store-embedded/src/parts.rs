//! The parts of a data directory belong together: what is missing is named before anything is overwritten.
//!
//! ```text
//!   journal ── reaches back to ──▶ documents ── name the folders of ──▶ segments
//! ```
//!
//! A directory whose journal goes back to its first frame needs no documents: they are made again. Otherwise
//! documents that are gone, or older than the journal, would make the store give out offsets and log numbers again.

use std::collections::BTreeSet;
use std::path::Path;

use prom_store::StoreError;

use crate::disk::Disk;
use crate::documents::DocumentState;
use crate::fault::io;
use crate::journal::reader;
use crate::recover::LogsById;
use crate::shared::{StoreShared, segments_dir};

/// Refuses a directory that was used and has lost its documents.
pub(crate) fn check_documents(disk: &dyn Disk, root: &Path) -> Result<(), StoreError> {
    let dir = root.join("documents");
    if DocumentState::is_there(&dir) {
        return Ok(());
    }
    let first_frame = reader::first_claimed(disk, &root.join("journal"))?;
    let is_used = first_frame.is_some() || !folders(disk, root)?.is_empty();
    if is_used && first_frame != Some(1) {
        return Err(StoreError::Incomplete { path: dir, reason: "is missing or empty".to_owned() });
    }
    Ok(())
}

/// Refuses segments that no log claims, and logs all of whose segments are gone. Returns a number for the next log.
pub(crate) fn check_segments(shared: &StoreShared, logs: &LogsById) -> Result<u32, StoreError> {
    let (disk, root) = (&*shared.options.disk, &shared.root);
    let folders = folders(disk, root)?;
    if let Some(unclaimed) = unclaimed(disk, root, &folders, |id| logs.contains_key(&id))?.first() {
        return Err(unclaimed_folder(root, *unclaimed));
    }
    let with_segments = || logs.iter().filter(|(_, log)| !log.state.lock().segments.is_empty());
    if with_segments().next().is_some() && !with_segments().any(|(id, _)| folders.contains(id)) {
        let reason = "is missing or empty, although there are events in it".to_owned();
        return Err(StoreError::Incomplete { path: root.join("segments"), reason });
    }
    Ok(folders.last().into_iter().chain(logs.keys().max()).max().map_or(0, |id| id + 1))
}

/// The numbers of the logs that have a folder.
pub(crate) fn folders(disk: &dyn Disk, root: &Path) -> Result<BTreeSet<u32>, StoreError> {
    let dir = root.join("segments");
    let names = disk.list(&dir).map_err(io("listing", &dir))?;
    Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
}

/// Folders with segments that belong to no known log.
pub(crate) fn unclaimed(
    disk: &dyn Disk,
    root: &Path,
    folders: &BTreeSet<u32>,
    is_known: impl Fn(u32) -> bool,
) -> Result<Vec<u32>, StoreError> {
    let mut unclaimed = Vec::new();
    for id in folders.iter().copied().filter(|id| !is_known(*id)) {
        let dir = segments_dir(root, id);
        let names = disk.list(&dir).map_err(io("listing", &dir))?;
        unclaimed.extend(names.iter().any(|name| name.ends_with(".seg")).then_some(id));
    }
    Ok(unclaimed)
}

pub(crate) fn unclaimed_folder(root: &Path, id: u32) -> StoreError {
    let reason = "holds segments of a log that documents/ does not name".to_owned();
    StoreError::Incomplete { path: segments_dir(root, id), reason }
}
