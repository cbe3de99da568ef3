//! Making a directory usable again that has lost a part: manifests from the segments, a journal where there is none.
//!
//! **What comes back.** Every event in a segment, with its offset, and its id if it was exact; everything in the journal
//! from the first frame on after which none is missing. **What does not.** Topics, groups, cursors and documents that
//! were only in `documents/`. Events that retention or compaction had dropped may be back if their files were still there.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use prom_store::{Bounds, LogName, StoreError};
use prom_types::Offset;

use crate::background::manifest;
use crate::background::name::read_name;
use crate::compact::stored_place;
use crate::disk::{Create, Disk};
use crate::documents::{DocumentState, keys};
use crate::fault::{self, io};
use crate::format;
use crate::journal::entry::entries;
use crate::journal::reader;
use crate::journal::writer::Files;
use crate::journal::{Entry, Journal};
use crate::lock::DirectoryLock;
use crate::log::{LogState, LogTail};
use crate::options::EmbeddedOptions;
use crate::parts;
use crate::segment::read::SegmentScan;
use crate::segment::{OpenFiles, RECORDS_AT, Segment, SegmentMeta};
use crate::shared::segments_dir;

/// How many exact ids are written at a time.
const IDS_AT_ONCE: usize = 10_000;

/// Makes again what is missing, in a directory that no process has open. Returns a line for each thing made.
/// `progress` is told of each log before its segments are read.
pub fn rebuild(
    root: &Path,
    options: &EmbeddedOptions,
    mut progress: impl FnMut(&LogName),
) -> Result<Vec<String>, StoreError> {
    let _lock = DirectoryLock::take(root)?;
    let disk = &*options.disk;
    let mut made = Vec::new();
    if format::rebuild(disk, root)? {
        made.push("FORMAT".to_owned());
    }
    for dir in ["journal", "segments"].map(|name| root.join(name)) {
        disk.create_dir(&dir).map_err(io("making", &dir))?;
    }
    let state = open_or_set_aside(options, &root.join("documents"), &mut made)?;
    let checkpoint = state.checkpoint()?;
    let journal = JournalLeft::read(disk, root)?;
    let reaches_back = journal.first_frame.is_none_or(|first| first <= checkpoint + 1);
    let mut names = known_names(root, &state)?;
    for id in parts::folders(disk, root)? {
        let known = state.get(&keys::log(id))?;
        if known.is_some() && reaches_back {
            continue;
        }
        let known = known.map(|bytes| manifest::decode(root, &keys::log(id), &bytes)).transpose();
        let known = known.map_err(fault::documents)?;
        let dir = segments_dir(root, id);
        let Some(mut log) = LogFiles::find(options, &dir)? else {
            continue;
        };
        let name = known.as_ref().map(|(name, _)| name.clone()).or_else(|| read_name(disk, &dir));
        let name = name.or_else(|| journal.names.get(&id).cloned()).ok_or_else(|| unnamed(&dir))?;
        if let Some(other) = names.insert(name.clone(), id).filter(|other| *other != id) {
            return Err(twice(&dir, &name, other));
        }
        progress(&name);
        log.read(&name, &state)?;
        let log = log.state(id, known.map(|(_, log)| log));
        let Bounds { start, next } = log.bounds;
        made.push(format!("{name}: {} segments, offsets {start} to {}", log.segments.len(), next.saturating_sub(1)));
        state.flush(manifest::encode(&name, &log))?;
    }
    give_up_folders(root, disk, &state, &mut made)?;
    if !reaches_back && let Some(first) = journal.first_frame {
        state.flush([(keys::CHECKPOINT.to_vec(), Some(Bytes::copy_from_slice(&(first - 1).to_le_bytes())))])?;
        made.push(format!("the checkpoint: the journal is read from frame {first} on"));
    }
    disk.sync_dir(root).map_err(io("syncing", root))?;
    if journal.first_frame.is_none() && checkpoint > 0 {
        begin_journal(root, options, checkpoint)?;
        made.push("an empty journal".to_owned());
    }
    Ok(made)
}

/// The database; a new one if the old one cannot be opened.
fn open_or_set_aside(
    options: &EmbeddedOptions,
    dir: &Path,
    made: &mut Vec<String>,
) -> Result<DocumentState, StoreError> {
    if !DocumentState::is_there(dir) {
        made.push("documents".to_owned());
    }
    let error = match DocumentState::open(options.disk.clone(), dir) {
        Ok(state) => return Ok(state),
        Err(error) => error,
    };
    let free = |number: &u32| !aside(dir, *number).exists();
    let aside = (0..).find(free).map_or(dir.with_extension("broken"), |number| aside(dir, number));
    std::fs::rename(dir, &aside).map_err(io("setting aside", dir))?;
    made.push(format!("documents: the old ones are now in {} ({error})", aside.display()));
    DocumentState::open(options.disk.clone(), dir)
}

fn aside(dir: &Path, number: u32) -> PathBuf {
    dir.with_extension(format!("broken-{number}"))
}

fn known_names(root: &Path, state: &DocumentState) -> Result<HashMap<LogName, u32>, StoreError> {
    let mut names = HashMap::new();
    for (key, value) in state.scan(keys::ALL_LOGS, None, usize::MAX)? {
        let (name, log) = manifest::decode(root, &key, &value).map_err(fault::documents)?;
        names.extend(log.id.map(|id| (name, id)));
    }
    Ok(names)
}

/// Logs whose folder is gone go on with what the journal has; the rest of their events is lost for good.
fn give_up_folders(
    root: &Path,
    disk: &dyn Disk,
    state: &DocumentState,
    made: &mut Vec<String>,
) -> Result<(), StoreError> {
    let folders = parts::folders(disk, root)?;
    for (key, value) in state.scan(keys::ALL_LOGS, None, usize::MAX)? {
        let (name, mut log) = manifest::decode(root, &key, &value).map_err(fault::documents)?;
        if log.segments.is_empty() || log.id.is_some_and(|id| folders.contains(&id)) {
            continue;
        }
        log.damage.extend(log.segments.drain(..).map(|segment| segment.missing(segment.base)));
        made.push(format!("{name}: its folder is missing, so its events are given up"));
        state.flush(manifest::encode(&name, &log))?;
    }
    Ok(())
}

fn unnamed(dir: &Path) -> StoreError {
    let reason = "holds segments and no NAME; write the topic and partition into it, such as `orders.placed/0`";
    StoreError::Incomplete { path: dir.to_path_buf(), reason: reason.to_owned() }
}

fn twice(dir: &Path, name: &LogName, other: u32) -> StoreError {
    let reason = format!("says that it is {name}, and so does folder {other} beside it; move one of them away");
    StoreError::Incomplete { path: dir.to_path_buf(), reason }
}

/// What the journal still says.
#[derive(Default)]
struct JournalLeft {
    /// From here on no frame is missing.
    first_frame: Option<u64>,
    names: HashMap<u32, LogName>,
}

impl JournalLeft {
    fn read(disk: &dyn Disk, root: &Path) -> Result<Self, StoreError> {
        let mut left = Self::default();
        let mut last = None;
        reader::read(disk, &root.join("journal"), 0, |frame, body, _| {
            if last.is_none_or(|last| frame.number != last + 1) {
                left.first_frame = Some(frame.number);
            }
            last = Some(frame.number);
            for entry in entries(&body[..frame.entries]).map_err(fault::documents)? {
                if let Entry::Log { id, name, .. } = entry {
                    left.names.insert(id, name);
                }
            }
            Ok(())
        })?;
        Ok(left)
    }
}

fn begin_journal(root: &Path, options: &EmbeddedOptions, checkpoint: u64) -> Result<(), StoreError> {
    let dir = root.join("journal");
    let walked = reader::read(&*options.disk, &dir, checkpoint, |_, _, _| Ok(()))?;
    let files = Files::new(options.disk.clone(), dir.clone(), options.sizes);
    Journal::resume(files, options.sync, walked).map_err(io("beginning a journal in", &dir))?;
    Ok(())
}

/// The segments in a folder, by base.
struct LogFiles {
    files: OpenFiles,
    segments: Vec<Arc<Segment>>,
}

impl LogFiles {
    /// `None` where there are none. Of two generations the later one counts, if it was finished: its ids are written last.
    fn find(options: &EmbeddedOptions, dir: &Path) -> Result<Option<Self>, StoreError> {
        let names: HashSet<String> = options.disk.list(dir).map_err(io("listing", dir))?.into_iter().collect();
        let mut newest: BTreeMap<Offset, (u32, bool)> = BTreeMap::new();
        for (base, generation) in names.iter().filter_map(|name| parse(name)) {
            let finished = names.contains(&format!("{base:020}-{generation}.ids"));
            let found = newest.entry(base).or_insert((generation, finished));
            if (finished, generation) > (found.1, found.0) {
                *found = (generation, finished);
            }
        }
        let bases: Vec<_> = newest.keys().skip(1).copied().map(Some).chain([None]).collect();
        let mut segments = Vec::new();
        for ((base, (generation, finished)), next_base) in newest.into_iter().zip(bases) {
            let path = dir.join(format!("{base:020}-{generation}.seg"));
            let file = options.disk.open(&path, Create::Never).map_err(io("opening", &path))?;
            let meta = SegmentMeta {
                end: next_base.unwrap_or(base),
                length: file.len().map_err(io("reading", &path))?.max(RECORDS_AT),
                events: 0,
                first_ts: 0,
                last_ts: 0,
                sealed: finished || next_base.is_some(),
                cleaned_at: None,
            };
            segments.push(Arc::new(Segment::known(dir, base, generation, meta)));
        }
        let files = OpenFiles::new(options.disk.clone(), options.sizes.open_files);
        Ok((!segments.is_empty()).then_some(Self { files, segments }))
    }

    /// Counts the events of each segment and notes where exact ids are.
    fn read(&mut self, name: &LogName, state: &DocumentState) -> Result<(), StoreError> {
        let mut ids = Vec::new();
        for segment in &self.segments {
            let mut meta = *segment.meta.lock();
            let mut scan = SegmentScan::new(segment, &self.files, RECORDS_AT)?;
            let mut length = RECORDS_AT;
            while let Some((position, item)) = scan.next_record()? {
                let record = match item {
                    Ok(record) => record,
                    // Behind the last whole record of the active segment lies what no checkpoint has counted.
                    Err(_) if !meta.sealed => break,
                    Err(_) => continue,
                };
                if meta.events == 0 {
                    meta.first_ts = record.stored_ts();
                }
                meta.events += 1;
                meta.last_ts = record.stored_ts();
                meta.end = meta.end.max(record.offset() + 1);
                length = position + record.len() as u64;
                if record.is_exact() {
                    let place = stored_place(name.partition, record.offset());
                    ids.push((keys::exact(&name.topic, record.id()), Some(place)));
                }
                if ids.len() >= IDS_AT_ONCE {
                    state.flush(std::mem::take(&mut ids))?;
                }
            }
            if !meta.sealed {
                meta.length = length;
            }
            *segment.meta.lock() = meta;
        }
        state.flush(ids)
    }

    /// The log as it goes on: what an older manifest says of its options and its start still holds.
    fn state(self, id: u32, known: Option<LogState>) -> LogState {
        let known = known.unwrap_or_default();
        let first = self.segments.first().map_or(0, |segment| segment.base);
        let next = self.segments.last().map_or(0, |segment| segment.end()).max(known.bounds.next);
        LogState {
            id: Some(id),
            options: known.options,
            bounds: Bounds { start: known.bounds.start.max(first), next },
            last_stored_ts: self.segments.iter().map(|segment| segment.meta.lock().last_ts).max().unwrap_or_default(),
            segments: self.segments,
            tail: LogTail::starting_at(next),
            damage: known.damage,
            begun: known.begun,
            ended: known.ended,
            ..LogState::default()
        }
    }
}

/// Base and generation of a segment's file.
fn parse(name: &str) -> Option<(Offset, u32)> {
    let (base, generation) = name.strip_suffix(".seg")?.split_once('-')?;
    Some((base.parse().ok()?, generation.parse().ok()?))
}
