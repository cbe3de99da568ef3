//! Checking a directory: every frame, every record, every index. Reads all of it; changes nothing
//! unless asked to mend what can be made again.

use std::fmt;
use std::path::Path;

use prom_store::{Damage, LogName, StoreError};

use crate::background::manifest;
use crate::codec::Take;
use crate::documents::{DocumentState, keys};
use crate::fault;
use crate::format;
use crate::journal::reader;
use crate::lock::DirectoryLock;
use crate::options::EmbeddedOptions;
use crate::segment::read::SegmentScan;
use crate::segment::{OpenFiles, RECORDS_AT, Segment};

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
    /// Indexes that were missing or bad and were made again.
    pub rebuilt: Vec<String>,
}

impl FsckReport {
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
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
    format::check(root)?;
    let state = DocumentState::open(&root.join("documents"))?;
    let files = OpenFiles::new(options.disk.clone(), options.sizes.open_files);
    let mut report = FsckReport::default();
    for (key, value) in state.scan(keys::ALL_LOGS, None, usize::MAX)? {
        let (name, log) = manifest::decode(root, &key, &value).map_err(fault::documents)?;
        progress(&name);
        report.logs += 1;
        report.damage.extend(log.damage);
        for segment in &log.segments {
            check_segment(segment, &files, options, &mut report)?;
        }
    }
    let checkpoint = state.get(keys::CHECKPOINT)?.and_then(|bytes| Take::new(&bytes).u64().ok()).unwrap_or(0);
    let walked = reader::read(&*options.disk, &root.join("journal"), checkpoint, |_, _, _| {
        report.frames += 1;
        Ok(())
    })?;
    report.damage.extend(walked.damage);
    Ok(report)
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
