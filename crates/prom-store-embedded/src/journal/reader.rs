//! Walking the journal after a start: every frame behind the checkpoint, in order, once.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;

use bytes::Bytes;
use prom_store::{Damage, StoreError};

use super::file::{Claim, FRAMES_AT, JournalFile, slots};
use super::frame::{self, Frame};
use crate::disk::Disk;
use crate::fault;

/// What one thread reads of a file.
const PART_BYTES: usize = 8 << 20;

/// What the walk left behind: where to go on writing, and which files are free.
pub(crate) struct Walked {
    /// The number the next frame gets.
    pub(crate) next_frame: u64,
    /// Files that hold frames after the checkpoint, oldest first.
    pub(crate) live: Vec<(JournalFile, Claim)>,
    /// The highest generation that any file has.
    pub(crate) generation: u64,
    /// Where the next frame goes in the last live file.
    pub(crate) position: u64,
    pub(crate) free: Vec<JournalFile>,
    pub(crate) damage: Vec<Damage>,
    /// What is left of a last frame that is not whole. The next one is written over it.
    pub(crate) cut: Option<Damage>,
    /// The journal does not reach back to the checkpoint. Going on would lose what lies between.
    pub(crate) missing: Option<Damage>,
    /// The newest frame: the file, where in it, and its bytes.
    newest: Option<(JournalFile, u64, Bytes)>,
}

impl Walked {
    /// Makes sure that what was read is on the disk. A process that was killed between write and sync, or
    /// whose sync failed, left its last frame in the page cache only; written and synced again it counts.
    pub(crate) fn make_durable(&self, disk: &dyn Disk, dir: &Path) -> Result<(), StoreError> {
        if let Some((file, position, frame)) = &self.newest {
            file.handle.write_at(frame, *position).map_err(fault::io("writing", &file.path))?;
        }
        for (file, _) in &self.live {
            file.handle.sync_data().map_err(fault::io("syncing", &file.path))?;
        }
        disk.sync_dir(dir).map_err(fault::io("syncing", dir))
    }
}

/// Calls `apply` with each frame after `checkpoint` and its body.
pub(crate) fn read(
    disk: &dyn Disk,
    dir: &Path,
    checkpoint: u64,
    mut apply: impl FnMut(&Frame, &Bytes, &Path) -> Result<(), StoreError>,
) -> Result<Walked, StoreError> {
    let mut walked = Walked {
        next_frame: checkpoint + 1,
        live: Vec::new(),
        generation: 0,
        position: FRAMES_AT,
        free: Vec::new(),
        damage: Vec::new(),
        cut: None,
        missing: None,
        newest: None,
    };
    let files = sort_files(disk, dir, &mut walked)?;
    if files.is_empty() && checkpoint > 0 {
        walked.missing = Some(lost_frames(dir, 0, checkpoint, checkpoint + 1));
    }
    for (index, (file, claim)) in files.iter().enumerate() {
        let named = file.next_frame().map_err(fault::io("reading", &file.path))?;
        let named = named.filter(|next| *next >= claim.first_frame);
        let claimed = files.get(index + 1).map(|(_, next)| next.first_frame);
        let replaced_from = named.into_iter().chain(claimed).min().unwrap_or(u64::MAX);
        if claim.first_frame > walked.next_frame {
            let lost = lost_frames(&file.path, FRAMES_AT, walked.next_frame, claim.first_frame);
            walked.missing = Some(lost.clone()).filter(|_| index == 0);
            walked.damage.push(lost);
            walked.next_frame = claim.first_frame;
        }
        let reached = walk_file(file, claim.first_frame, replaced_from, &mut walked, &mut apply)?;
        walked.live.push((file.clone(), *claim));
        if claimed.is_none() && (named.is_some() || reached <= checkpoint) {
            walked.damage.push(no_next_file(dir, reached));
            // What comes next must not look as if it had followed the last frame of this file.
            walked.position = file.whole_blocks();
        }
    }
    Ok(walked)
}

/// The first frame of which a file is there; `None` where there is no such file.
pub(crate) fn first_claimed(disk: &dyn Disk, dir: &Path) -> Result<Option<u64>, StoreError> {
    let mut first = None;
    for slot in slots(disk, dir).map_err(fault::io("listing", dir))? {
        let file = JournalFile::open(disk, dir, slot).map_err(fault::io("opening", dir))?;
        let claim = file.claim().map_err(fault::io("reading", &file.path))?;
        first = first.into_iter().chain(claim.map(|claim| claim.first_frame)).min();
    }
    Ok(first)
}

/// Files in the order of their frames; those that end before the checkpoint are free.
fn sort_files(disk: &dyn Disk, dir: &Path, walked: &mut Walked) -> Result<Vec<(JournalFile, Claim)>, StoreError> {
    let mut files = Vec::new();
    for slot in slots(disk, dir).map_err(fault::io("listing", dir))? {
        let file = JournalFile::open(disk, dir, slot).map_err(fault::io("opening", dir))?;
        match file.claim().map_err(fault::io("reading", &file.path))? {
            Some(claim) => files.push((file, claim)),
            None => match first_sound_frame(&file, walked.next_frame)? {
                Some(first_frame) => {
                    walked.damage.push(bad_header(&file.path, first_frame));
                    files.push((file, Claim { first_frame, generation: 0 }));
                }
                None => walked.free.push(file),
            },
        }
    }
    files.sort_by_key(|(_, claim)| *claim);
    walked.generation = files.iter().map(|(_, claim)| claim.generation).max().unwrap_or(0);
    let next = walked.next_frame;
    let first_live = files.iter().rposition(|(_, claim)| claim.first_frame <= next).unwrap_or(0);
    walked.free.extend(files.drain(..first_live).map(|(file, _)| file));
    Ok(files)
}

/// A file whose header is bad may still hold frames that count: its first one says which.
fn first_sound_frame(file: &JournalFile, next_frame: u64) -> Result<Option<u64>, StoreError> {
    let mut header = [0; frame::HEADER_BYTES];
    file.handle.read_at(&mut header, FRAMES_AT).map_err(fault::io("reading", &file.path))?;
    if frame::number(&header).is_none_or(|number| number < next_frame) {
        return Ok(None);
    }
    let bytes = read_whole(file)?;
    Ok(frame::check(&bytes[FRAMES_AT as usize..]).map(|frame| frame.number))
}

fn bad_header(path: &Path, first_frame: u64) -> Damage {
    Damage {
        file: PathBuf::from(path),
        position: 0,
        reason: format!("the header is bad; its frames from {first_frame} on were still read"),
        lost: None,
    }
}

/// Returns the number of the frame after the last one that is there.
fn walk_file(
    file: &JournalFile,
    first: u64,
    replaced_from: u64,
    walked: &mut Walked,
    apply: &mut impl FnMut(&Frame, &Bytes, &Path) -> Result<(), StoreError>,
) -> Result<u64, StoreError> {
    let bytes = read_whole(file)?;
    let mut position = FRAMES_AT as usize;
    let mut expected = first;
    loop {
        let sound = frame::check(bytes.get(position..).unwrap_or_default());
        let Some(found) = sound.filter(|found| found.number == expected && found.number < replaced_from) else {
            if expected >= replaced_from {
                break;
            }
            let Some((at, found)) = find_later(&bytes, position, expected, replaced_from) else {
                let rest = bytes.get(position..).unwrap_or_default();
                walked.cut = frame::is_remainder(rest, expected).then(|| cut_frame(&file.path, position, expected));
                break;
            };
            walked.damage.push(lost_frames(&file.path, position as u64, expected, found));
            (position, expected) = (at, found);
            continue;
        };
        if found.number >= walked.next_frame {
            let body = bytes.slice(position + frame::HEADER_BYTES..position + frame::HEADER_BYTES + found.body);
            apply(&found, &body, &file.path)?;
        }
        let end = (position + found.stride).min(bytes.len());
        walked.newest = Some((file.clone(), position as u64, bytes.slice(position..end)));
        expected = found.number + 1;
        position += found.stride;
    }
    walked.next_frame = walked.next_frame.max(expected);
    walked.position = position as u64;
    Ok(expected)
}

/// A sound frame with a higher number behind a bad one proves that the bad one had been acknowledged.
fn find_later(bytes: &[u8], from: usize, expected: u64, replaced_from: u64) -> Option<(usize, u64)> {
    let later = |at: usize| {
        let number = frame::number(&bytes[at..])?;
        let sound = number > expected && number < replaced_from && frame::check(&bytes[at..]).is_some();
        sound.then_some((at, number))
    };
    (from..bytes.len()).step_by(frame::ALIGN).find_map(later)
}

fn lost_frames(path: &Path, position: u64, expected: u64, found: u64) -> Damage {
    Damage {
        file: PathBuf::from(path),
        position,
        reason: format!("journal frames {expected} to {} cannot be read", found - 1),
        lost: None,
    }
}

fn cut_frame(path: &Path, position: usize, number: u64) -> Damage {
    let reason = format!(
        "journal frame {number} is not whole and was cut; a crash while it was written leaves this behind, and nothing is \
         lost; if there was none, its commits are lost"
    );
    Damage { file: PathBuf::from(path), position: position as u64, reason, lost: None }
}

fn no_next_file(dir: &Path, first_frame: u64) -> Damage {
    Damage {
        file: PathBuf::from(dir),
        position: 0,
        reason: format!("the journal file that held frame {first_frame} and those after it is missing"),
        lost: None,
    }
}

/// Several parts at a time: the journal is not in the system's cache, and one read alone waits for the disk most of
/// the time.
fn read_whole(file: &JournalFile) -> Result<Bytes, StoreError> {
    let mut bytes = vec![0; file.capacity as usize];
    let read = std::thread::scope(|scope| {
        let parts = (0u64..).step_by(PART_BYTES).zip(bytes.chunks_mut(PART_BYTES));
        let reads: Vec<_> =
            parts.map(|(position, part)| scope.spawn(move || file.handle.read_at(part, position))).collect();
        let ended = |read: ScopedJoinHandle<'_, io::Result<usize>>| {
            read.join().unwrap_or_else(|_| Err(ErrorKind::Other.into()))
        };
        reads.into_iter().map(ended).sum::<io::Result<usize>>()
    });
    let length = read.map_err(fault::io("reading", &file.path))?;
    bytes.truncate(length);
    Ok(bytes.into())
}
