//! Checking a directory: every part, every frame, every record, every index. Reads all of it; changes nothing
//! but caches that can be made again. [`rebuild`] makes manifests again, if asked to.

mod rebuild;

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use prom_store::{Damage, LogName, StoreError};

use crate::background::manifest;
use crate::documents::{DocumentState, keys};
use crate::fault;
use crate::format;
use crate::journal::Entry;
use crate::journal::entry::entries;
use crate::journal::reader;
use crate::lock::DirectoryLock;
use crate::options::EmbeddedOptions;
use crate::parts;
use crate::segment::read::SegmentScan;
use crate::segment::{OpenFiles, RECORDS_AT, Segment};
pub use rebuild::rebuild;

/// What a check found.
#[derive(Debug, Default)]
pub struct FsckReport {
    pub logs: u64,
    pub segments: u64,
    pub events: u64,
    pub bytes: u64,
    /// Journal frames behind the checkpoint.
    pub frames: u64,
    pub damage: Vec<Damage>,
    /// What is left of a last journal frame that is not whole. Opening the directory cuts it.
    pub cut: Option<Damage>,
    /// Indexes that were missing or bad and were made again.
    pub rebuilt: Vec<String>,
}

impl FsckReport {
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }

    /// A part that is missing is damage; other errors end the check.
    fn note(&mut self, checked: Result<(), StoreError>) -> Result<(), StoreError> {
        match checked {
            Err(StoreError::Incomplete { path, reason }) => self.lost(&path, reason),
            checked => checked?,
        }
        Ok(())
    }

    fn lost(&mut self, path: &Path, reason: String) {
        self.damage.push(Damage { file: path.to_path_buf(), position: 0, reason, lost: None });
    }
}

impl fmt::Display for FsckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { logs, segments, events, bytes, frames, .. } = self;
        writeln!(
            f,
            "{logs} logs, {segments} segments, {events} events, {bytes} bytes, {frames} journal frames behind the checkpoint"
        )?;
        for index in &self.rebuilt {
            writeln!(f, "made again: {index}")?;
        }
        if let Some(cut) = &self.cut {
            writeln!(f, "{} at byte {}: {}", cut.file.display(), cut.position, cut.reason)?;
        }
        for damage in &self.damage {
            writeln!(f, "{damage}")?;
        }
        if self.is_sound() { write!(f, "sound") } else { write!(f, "{} damaged places", self.damage.len()) }
    }
}

/// Checks a directory that no process has open. `progress` is told of each log before it is read.
pub fn fsck(
    root: &Path,
    options: &EmbeddedOptions,
    mut progress: impl FnMut(&LogName),
) -> Result<FsckReport, StoreError> {
    let _lock = DirectoryLock::take(root)?;
    let mut report = FsckReport::default();
    report.note(format::check(&*options.disk, root))?;
    report.note(parts::check_documents(&*options.disk, root))?;
    let documents = root.join("documents");
    let state = match DocumentState::is_there(&documents).then(|| DocumentState::open(options.disk.clone(), &documents))
    {
        Some(Ok(state)) => Some(state),
        Some(Err(error)) => {
            report.lost(&documents, error.to_string());
            None
        }
        None => None,
    };
    let (mut known, mut checkpoint) = (HashSet::new(), 0);
    if let Some(state) = &state {
        known = check_logs(root, state, options, &mut report, &mut progress)?;
        checkpoint = state.checkpoint()?;
    }
    let walked = reader::read(&*options.disk, &root.join("journal"), checkpoint, |frame, body, _| {
        report.frames += 1;
        for entry in entries(&body[..frame.entries]).unwrap_or_default() {
            if let Entry::Log { id, .. } = entry {
                known.insert(id);
            }
        }
        Ok(())
    })?;
    report.cut = walked.cut;
    report.damage.extend(walked.missing.filter(|_| walked.damage.is_empty()));
    report.damage.extend(walked.damage);
    let folders = parts::folders(&*options.disk, root)?;
    for id in parts::unclaimed(&*options.disk, root, &folders, |id| known.contains(&id))? {
        report.note(Err(parts::unclaimed_folder(root, id)))?;
    }
    Ok(report)
}

/// Reads every segment that a manifest names. Returns the numbers of the logs.
fn check_logs(
    root: &Path,
    state: &DocumentState,
    options: &EmbeddedOptions,
    report: &mut FsckReport,
    progress: &mut impl FnMut(&LogName),
) -> Result<HashSet<u32>, StoreError> {
    let files = OpenFiles::new(options.disk.clone(), options.sizes.open_files);
    let mut known = HashSet::new();
    for (key, value) in state.scan(keys::ALL_LOGS, None, usize::MAX)? {
        let (name, log) = manifest::decode(root, &key, &value).map_err(fault::documents)?;
        progress(&name);
        report.logs += 1;
        report.damage.extend(log.damage);
        known.extend(log.id);
        for segment in &log.segments {
            check_segment(segment, &files, options, report)?;
        }
    }
    Ok(known)
}

fn check_segment(
    segment: &Segment,
    files: &OpenFiles,
    options: &EmbeddedOptions,
    report: &mut FsckReport,
) -> Result<(), StoreError> {
    report.segments += 1;
    let meta = *segment.meta.lock();
    report.bytes += meta.length;
    let mut scan = match SegmentScan::new(segment, files, RECORDS_AT) {
        Ok(scan) => scan,
        Err(error) => {
            report.damage.push(Damage {
                file: segment.path.clone(),
                position: 0,
                reason: error.to_string(),
                lost: Some(segment.base..meta.end),
            });
            return Ok(());
        }
    };
    let (mut sound, mut last) = (0, None);
    let mut damage = |position, reason: String| {
        report.damage.push(Damage { file: segment.path.clone(), position, reason, lost: None });
    };
    while let Some((position, item)) = scan.next_record()? {
        match item {
            Ok(record) if last.is_some_and(|last| record.offset() <= last) => {
                damage(position, format!("offset {} comes after {last:?}", record.offset()));
            }
            Ok(record) => {
                last = Some(record.offset());
                sound += 1;
            }
            Err(fault) => damage(position, fault.to_string()),
        }
    }
    if sound < meta.events {
        damage(meta.length, format!("{sound} of {} events can be read", meta.events));
    }
    report.events += sound;
    if meta.sealed && segment.mend_index(files, options.sizes.index_interval)? {
        report.rebuilt.push(segment.index_path().display().to_string());
    }
    Ok(())
}
