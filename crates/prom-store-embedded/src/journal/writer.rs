//! Writing frames: into the current file, on to the next when it is full, to a fresh one when a sync failed.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use prom_store::Histogram;

use super::blocks::Blocks;
use super::file::{Claim, FRAMES_AT, JournalFile};
use super::frame::FrameDraft;
use super::reader::Walked;
use crate::disk::{BLOCK_BYTES, Disk};
use crate::options::{Sizes, Sync};

/// How many free files are kept for recycling; more are removed. As many as fill up under load while a checkpoint runs.
const KEEP_FREE: usize = 16;

/// Files shared between the writer and the worker that prepares and frees them.
pub(crate) struct Files {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    sizes: Sizes,
    state: Mutex<FilesState>,
    freed: Condvar,
    /// How long each sync of frames took.
    pub(crate) syncs: Histogram,
}

#[derive(Default)]
struct FilesState {
    /// Files with frames that are not behind a checkpoint yet, oldest first.
    live: VecDeque<(JournalFile, Claim)>,
    free: Vec<JournalFile>,
    next_slot: u32,
}

/// The writing end. The committer owns it.
pub(crate) struct Journal {
    files: Arc<Files>,
    sync: Sync,
    current: JournalFile,
    position: u64,
    next_frame: u64,
    generation: u64,
    blocks: Blocks,
    /// A new file was begun since [`Journal::take_rolled`] was last called.
    rolled: bool,
    /// A sync failed and no fresh file could be begun yet.
    failed: bool,
}

/// Why a frame could not be made durable.
#[derive(Debug)]
pub(crate) enum WriteFault {
    /// There is no room for it, and nothing of it was written.
    NoRoom(std::io::Error),
    /// The write or the sync failed, and the frame has been cut off for good.
    Cut(std::io::Error),
    /// The same, and it may turn up again after a restart.
    Unknown(std::io::Error),
}

impl Files {
    pub(crate) fn new(disk: Arc<dyn Disk>, dir: PathBuf, sizes: Sizes) -> Arc<Self> {
        Arc::new(Self { disk, dir, sizes, state: Mutex::default(), freed: Condvar::new(), syncs: Histogram::default() })
    }

    /// Forgets frames up to `checkpoint`: files that hold nothing newer become free.
    pub(crate) fn release(&self, checkpoint: u64) -> std::io::Result<()> {
        let mut state = self.state.lock();
        while state.live.get(1).is_some_and(|(_, claim)| claim.first_frame <= checkpoint + 1) {
            if let Some((file, _)) = state.live.pop_front() {
                state.free.push(file);
            }
        }
        self.freed.notify_all();
        let surplus: Vec<_> = {
            let standard = self.sizes.journal_file;
            let (mut keep, mut surplus): (Vec<_>, Vec<_>) =
                std::mem::take(&mut state.free).into_iter().partition(|file| file.capacity == standard);
            surplus.extend(keep.drain(KEEP_FREE.min(keep.len())..));
            state.free = keep;
            surplus
        };
        drop(state);
        for file in &surplus {
            self.disk.remove(&file.path)?;
        }
        if surplus.is_empty() { Ok(()) } else { self.disk.sync_dir(&self.dir) }
    }

    /// Syncs every file with frames that no checkpoint has.
    pub(crate) fn sync_live(&self) -> std::io::Result<()> {
        let live: Vec<_> = self.state.lock().live.iter().map(|(file, _)| file.handle.clone()).collect();
        live.iter().try_for_each(|file| self.timed(|| file.sync_data()))
    }

    /// Makes something durable, and notes how long that took, also where it failed.
    fn timed(&self, sync: impl FnOnce() -> std::io::Result<()>) -> std::io::Result<()> {
        // A measurement of the disk, not a decision by the clock.
        let began = Instant::now();
        let result = sync();
        self.syncs.record(began.elapsed());
        result
    }

    /// Makes sure that a free file waits for the writer.
    pub(crate) fn prepare(&self) -> std::io::Result<()> {
        if !self.state.lock().free.is_empty() {
            return Ok(());
        }
        let file = self.create(self.sizes.journal_file)?;
        self.state.lock().free.push(file);
        Ok(())
    }

    /// Bytes of the files that a checkpoint could free: all but the one being written.
    pub(crate) fn releasable_bytes(&self) -> u64 {
        let state = self.state.lock();
        let before_current = state.live.len().saturating_sub(1);
        state.live.iter().take(before_current).map(|(file, _)| file.capacity).sum()
    }

    /// Waits until the live files are within their limit, or `release` is called.
    pub(crate) fn wait_for_release(&self) {
        let mut state = self.state.lock();
        self.freed.wait_for(&mut state, std::time::Duration::from_millis(200));
    }

    fn create(&self, capacity: u64) -> std::io::Result<JournalFile> {
        let slot = {
            let mut state = self.state.lock();
            state.next_slot += 1;
            state.next_slot - 1
        };
        JournalFile::create(&*self.disk, &self.dir, slot, capacity)
    }

    /// A file with room for a frame of `needed` bytes: a free one, else a new one.
    fn next(&self, needed: u64) -> std::io::Result<JournalFile> {
        let fits = |file: &JournalFile| file.whole_blocks() >= FRAMES_AT + needed;
        {
            let mut state = self.state.lock();
            if let Some(index) = state.free.iter().position(fits) {
                return Ok(state.free.swap_remove(index));
            }
        }
        self.create(self.sizes.journal_file.max(FRAMES_AT + needed).next_multiple_of(BLOCK_BYTES as u64))
    }

    fn add_live(&self, file: JournalFile, claim: Claim) {
        self.state.lock().live.push_back((file, claim));
    }
}

impl Journal {
    /// Goes on behind what was walked, or begins a journal where there is none.
    pub(crate) fn resume(files: Arc<Files>, sync: Sync, walked: Walked) -> std::io::Result<Self> {
        let highest =
            walked.live.iter().map(|(file, _)| file.slot).chain(walked.free.iter().map(|file| file.slot)).max();
        {
            let mut state = files.state.lock();
            state.next_slot = highest.map_or(0, |slot| slot + 1);
            state.free = walked.free;
            state.live = walked.live.into();
        }
        let last = files.state.lock().live.back().map(|(file, _)| file.clone());
        let current = match last {
            Some(file) => file,
            None => {
                let claim = Claim { first_frame: walked.next_frame, generation: walked.generation + 1 };
                let file = files.create(files.sizes.first_journal_file)?;
                file.write_header(claim)?;
                file.handle.sync_data()?;
                files.add_live(file.clone(), claim);
                file
            }
        };
        let in_block = walked.position % BLOCK_BYTES as u64;
        let mut partial = vec![0; in_block as usize];
        current.handle.read_at(&mut partial, walked.position - in_block)?;
        Ok(Self {
            files,
            sync,
            current,
            position: walked.position,
            next_frame: walked.next_frame,
            generation: walked.generation + 1,
            blocks: Blocks::continuing(partial),
            rolled: false,
            failed: false,
        })
    }

    /// Makes one frame durable. Returns its number.
    pub(crate) fn append(&mut self, mut frame: FrameDraft<'_>) -> Result<u64, WriteFault> {
        let number = self.next_frame;
        let needed = frame.len() as u64;
        if self.failed || self.position + needed > self.current.whole_blocks() {
            self.roll(needed).map_err(WriteFault::NoRoom)?;
        }
        let written = self.write(needed, |out| frame.put(number, out));
        match written {
            Ok(()) => {
                self.blocks.written(needed as usize);
                self.position += needed;
                self.next_frame += 1;
                Ok(number)
            }
            Err(error) => Err(self.cut(error)),
        }
    }

    /// Writes a frame of this length behind the last, as durable as was asked for.
    fn write(&mut self, length: u64, put: impl FnOnce(&mut Vec<u8>)) -> std::io::Result<()> {
        let lead = self.blocks.lead();
        let blocks = self.blocks.fill(length as usize, put);
        match self.sync {
            Sync::Fsync => {
                let file = &self.current.handle;
                self.files.timed(|| file.write_blocks(blocks, self.position - lead as u64))
            }
            Sync::Os => self.current.handle.write_at(&blocks[lead..lead + length as usize], self.position),
        }
    }

    /// The last frame may or may not be on the disk, and asking again would prove nothing. A new file
    /// that claims the frame's number settles it: whatever lies in the old one from there on is void.
    fn cut(&mut self, error: std::io::Error) -> WriteFault {
        self.failed = true;
        match self.roll(0) {
            Ok(()) => WriteFault::Cut(error),
            Err(_) => WriteFault::Unknown(error),
        }
    }

    fn roll(&mut self, needed: u64) -> std::io::Result<()> {
        let file = self.files.next(needed)?;
        self.generation += 1;
        let claim = Claim { first_frame: self.next_frame, generation: self.generation };
        // Frames are made durable alone, so the header is as well, before the first of them.
        let claimed = file
            .write_header(claim)
            .and_then(|()| if self.failed || self.sync == Sync::Fsync { file.handle.sync_data() } else { Ok(()) });
        if let Err(error) = claimed {
            // Its header is in doubt, so it must not be used again: a later file claims the number again.
            let _best_effort = self.files.disk.remove(&file.path);
            return Err(error);
        }
        self.files.add_live(file.clone(), claim);
        self.name_next_file();
        self.current = file;
        self.position = FRAMES_AT;
        self.blocks.start_over();
        self.rolled = true;
        self.failed = false;
        Ok(())
    }

    /// The new file's claim is durable, so the old file may name it. Without the name only the loss of the new file would
    /// go unnoticed; so a failure is no reason not to go on.
    fn name_next_file(&self) {
        let named = match self.sync {
            Sync::Fsync => self.current.write_next(self.next_frame).and_then(|()| self.current.handle.sync_data()),
            // Nothing says which of the two files reaches the disk first.
            Sync::Os => Ok(()),
        };
        if let Err(error) = named {
            tracing::warn!(file = %self.current.path.display(), %error, "a journal file does not name the next one");
        }
    }

    /// True once after each new file: the ones before it can be freed by a checkpoint.
    pub(crate) fn take_rolled(&mut self) -> bool {
        std::mem::take(&mut self.rolled)
    }

    /// True when the current file is more than half full: time to prepare the next.
    pub(crate) fn is_half_full(&self) -> bool {
        self.position * 2 > self.current.capacity
    }
}
