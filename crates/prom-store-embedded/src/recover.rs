//! Opening a directory: what the last checkpoint wrote down, then the journal behind it.
//!
//! No segment is read and no log's directory is looked at: opening costs the journal's tail, however
//! much the logs hold.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use prom_store::record::frame_length;
use prom_store::{Damage, LogName, LogOptions, StoreError};

use crate::background::manifest;
use crate::commit::CommitQueue;
use crate::commit::committer::index_events;
use crate::documents::{DocumentState, encode_document, keys};
use crate::fault;
use crate::journal::entry::entries;
use crate::journal::frame::{Frame, sections};
use crate::journal::reader::{self, Walked};
use crate::journal::writer::Files;
use crate::journal::{Entry, Journal};
use crate::log::buffers::Buffers;
use crate::log::{Chunk, Log};
use crate::options::EmbeddedOptions;
use crate::parts;
use crate::segment::OpenFiles;
use crate::shared::{Applied, Background, StoreHealth, StoreShared};

pub(crate) struct Recovered {
    pub(crate) shared: Arc<StoreShared>,
    pub(crate) journal: Journal,
    pub(crate) next_log_id: u32,
}

pub(crate) fn recover(root: &Path, options: EmbeddedOptions) -> Result<Recovered, StoreError> {
    parts::check_documents(&*options.disk, root)?;
    let (shared, by_id) = open_checkpoint(root, options)?;
    let checkpoint = shared.applied.lock().frame;
    let journal_dir = root.join("journal");
    let mut replay = Replay { shared: &shared, by_id, unfilled: 0 };
    let walked = reader::read(&*shared.options.disk, &journal_dir, checkpoint, |frame, body, file| {
        replay.frame(frame, body, file)
    })?;
    if let Some(Damage { file, reason, .. }) = walked.missing {
        return Err(StoreError::Incomplete { path: file, reason });
    }
    let next_log_id = parts::check_segments(&shared, &replay.by_id)?;
    let unfilled = replay.unfilled;
    if !walked.damage.is_empty() {
        raise_to_cursors(&shared)?;
    }
    for log in shared.logs.read().values() {
        let bounds = log.state.lock().bounds;
        log.announce(bounds);
    }
    let journal = resume(&shared, walked, &journal_dir)?;
    if shared.background.add_unfilled(unfilled) >= shared.options.sizes.fill_from {
        shared.background.request(|work| work.fill = true);
    }
    Ok(Recovered { shared, journal, next_log_id })
}

pub(crate) type LogsById = HashMap<u32, Arc<Log>>;

/// The store as the last checkpoint left it.
fn open_checkpoint(root: &Path, options: EmbeddedOptions) -> Result<(Arc<StoreShared>, LogsById), StoreError> {
    let journal_dir = root.join("journal");
    for dir in [journal_dir.clone(), root.join("segments")] {
        options.disk.create_dir(&dir).map_err(fault::io("making", &dir))?;
    }
    options.disk.sync_dir(root).map_err(fault::io("syncing", root))?;
    let state = DocumentState::open(options.disk.clone(), &root.join("documents"))?;
    // The database syncs what is within its directory, not the directory's own name.
    std::fs::File::open(root).and_then(|dir| dir.sync_all()).map_err(fault::io("syncing", root))?;
    let checkpoint = state.checkpoint()?;
    let (mut logs, mut by_id) = (HashMap::new(), LogsById::new());
    for (key, value) in state.scan(keys::ALL_LOGS, None, usize::MAX)? {
        let (name, log_state) = manifest::decode(root, &key, &value).map_err(fault::documents)?;
        let id = log_state.id;
        let log = Arc::new(Log::new(name.clone(), log_state));
        by_id.extend(id.map(|id| (id, log.clone())));
        logs.insert(name, log);
    }
    let shared = StoreShared {
        root: root.to_path_buf(),
        queue: CommitQueue::new(options.drive),
        journal: Files::new(options.disk.clone(), journal_dir, options.sizes),
        state,
        cursors: crate::cursors::EmbeddedCursors::default(),
        files: OpenFiles::new(options.disk.clone(), options.sizes.open_files),
        buffers: Buffers::default(),
        logs: RwLock::new(logs),
        applied: Mutex::new(Applied { frame: checkpoint, dropped: Vec::new() }),
        background: Background::default(),
        health: Mutex::new(StoreHealth::default()),
        damage: Mutex::default(),
        cut_frames: AtomicU64::new(0),
        compacting: Mutex::new(()),
        options,
    };
    Ok((Arc::new(shared), by_id))
}

/// Where frames were lost, a log may end before what its groups have settled. Its offsets must not be
/// given out again: groups would take the new events for settled ones.
fn raise_to_cursors(shared: &StoreShared) -> Result<(), StoreError> {
    for (name, cursor) in shared.cursors.list(&shared.state, None)? {
        let settled_to = cursor.above.iter().map(|range| range.end).max().unwrap_or(0).max(cursor.floor);
        let log = shared.log(&name.log);
        let mut state = log.state.lock();
        if state.bounds.next < settled_to {
            let lost = state.bounds.next..settled_to;
            state.damage.push(Damage {
                file: shared.root.join("journal"),
                position: 0,
                reason: "groups have settled events here that cannot be read any more".to_owned(),
                lost: Some(lost),
            });
            state.bounds.next = settled_to;
            state.dirty = true;
        }
    }
    Ok(())
}

fn resume(shared: &StoreShared, walked: Walked, dir: &Path) -> Result<Journal, StoreError> {
    walked.make_durable(&*shared.options.disk, dir)?;
    walked.damage.iter().for_each(|damage| shared.note_damage(damage));
    if let Some(cut) = &walked.cut {
        tracing::warn!(file = %cut.file.display(), position = cut.position, "{}", cut.reason);
        shared.cut_frames.store(1, Ordering::Relaxed);
    }
    shared.applied.lock().frame = walked.next_frame - 1;
    Journal::resume(shared.journal.clone(), shared.options.sync, walked)
        .map_err(fault::io("beginning a journal in", dir))
}

/// Applies frames to memory. Doing so twice changes nothing.
struct Replay<'a> {
    shared: &'a Arc<StoreShared>,
    by_id: LogsById,
    unfilled: u64,
}

impl Replay<'_> {
    fn frame(&mut self, frame: &Frame, body: &Bytes, file: &Path) -> Result<(), StoreError> {
        let malformed = |reason: &str| Damage {
            file: file.to_path_buf(),
            position: 0,
            reason: format!("frame {} is sound but says something impossible: {reason}", frame.number),
            lost: None,
        };
        let entries = entries(&body[..frame.entries]).map_err(|error| malformed(&error.to_string()))?;
        let (mut trims, mut ends, mut skips) = (Vec::new(), Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                Entry::Log { id, name, options } => self.log(id, name, options),
                Entry::Cursor { name, step } => self.shared.cursors.apply(&self.shared.state, &name, &step)?,
                Entry::Document { collection, key, revision, value } => {
                    let stored = value.map(|value| encode_document(revision, &value));
                    self.shared.state.put(keys::document(&collection, &key), stored);
                }
                Entry::Trim { log, start } => trims.push((log, start)),
                Entry::End { log, at } => {
                    if let Some(log) = self.by_id.get(&log) {
                        let mut state = log.state.lock();
                        // Again after a checkpoint that knew it already: what came since stays.
                        state.ended |= at >= state.begun;
                    }
                    ends.push((log, at));
                }
                Entry::Skip { log, to } => skips.push((log, to)),
            }
        }
        for (log, to) in skips {
            match self.by_id.get(&log) {
                Some(log) => log.state.lock().skip(to),
                None => self.unknown_log(malformed("its log was named by a frame that is lost")),
            }
        }
        for section in sections(body, frame.entries).map_err(|error| malformed(&error.to_string()))? {
            let Some(log) = self.by_id.get(&section.log).cloned() else {
                self.unknown_log(malformed("its log was named by a frame that is lost"));
                continue;
            };
            let chunk = chunk(&body[section.records], section.count).ok_or_else(|| malformed("bad records"))?;
            self.events(&log, chunk, file);
        }
        // As when the frame was first applied: a trim may reach into the events beside it.
        for (log, start) in trims {
            let Some(log) = self.by_id.get(&log) else {
                self.unknown_log(malformed("its log was named by a frame that is lost"));
                continue;
            };
            log.state.lock().trim(start);
        }
        for (log, at) in ends {
            let Some(log) = self.by_id.get(&log) else {
                self.unknown_log(malformed("its log was named by a frame that is lost"));
                continue;
            };
            let mut state = log.state.lock();
            let ended = state.ended;
            if at >= state.begun {
                state.end(at);
                state.ended = ended;
            }
        }
        Ok(())
    }

    fn unknown_log(&self, damage: Damage) {
        self.shared.note_damage(&damage);
    }

    fn log(&mut self, id: u32, name: LogName, options: LogOptions) {
        let log = self.shared.log(&name);
        let mut state = log.state.lock();
        state.id = Some(id);
        state.set_options(options);
        state.ended = false;
        drop(state);
        self.by_id.insert(id, log);
    }

    fn events(&mut self, log: &Arc<Log>, chunk: Chunk, file: &Path) {
        let (id, options, next) = {
            let state = log.state.lock();
            (state.id, state.options, state.bounds.next)
        };
        if let Some(id) = id {
            index_events(self.shared, &log.name, id, options, &chunk);
        }
        if chunk.end() <= next {
            return;
        }
        // A rebuilt log may end within what one frame holds.
        let chunk = chunk.from(next);
        let mut state = log.state.lock();
        if chunk.base() > next {
            state.damage.push(Damage {
                file: file.to_path_buf(),
                position: 0,
                reason: "the journal frame that held these events cannot be read".to_owned(),
                lost: Some(next..chunk.base()),
            });
        }
        self.unfilled += chunk.len_bytes();
        let last_stored_ts = chunk.record(chunk.end() - 1).map_or(state.last_stored_ts, |record| record.stored_ts());
        state.push(chunk, last_stored_ts);
    }
}

/// A chunk of its own memory, so that it does not hold on to the whole journal file.
fn chunk(records: &[u8], count: u32) -> Option<Chunk> {
    let mut positions = Vec::with_capacity(count as usize);
    let mut at = 0;
    while at < records.len() {
        positions.push(at as u32);
        at += frame_length(&records[at..]).ok()?;
    }
    if positions.len() != count as usize || positions.is_empty() {
        return None;
    }
    let bytes = Bytes::copy_from_slice(records);
    let first = prom_store::Record::trusted(&bytes).ok()?;
    Some(Chunk::new(first.offset(), bytes, positions.into()))
}
