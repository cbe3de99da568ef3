//! Copies of the document database's real directory: the last one that was said to be durable, and
//! the one as it is now.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::SystemTime;

use tempfile::TempDir;

/// The database writes in the background; a copy counts only if nothing moved meanwhile.
const TRIES: usize = 200;
const PAGE_BYTES: usize = 4096;
const ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];
/// The unit in which the operating system tells how much of a file has a place.
const BLOCK_BYTES: u64 = 512;
/// Files up to this size may lie in their own metadata and claim to have no place at all.
const SMALL_BYTES: u64 = 64 << 10;

/// A directory as it was, to be put back below another root.
#[derive(Debug)]
pub(super) struct Aside {
    copy: TempDir,
    /// Where it was, below its root.
    place: PathBuf,
}

impl Aside {
    pub(super) fn take(root: &Path, place: &Path) -> io::Result<Self> {
        let from = root.join(place);
        for _ in 0..TRIES {
            let copy = TempDir::new()?;
            let before = listing(&from)?;
            match copy_all(&from, copy.path()) {
                Ok(()) if listing(&from)? == before => {
                    let place = place.to_path_buf();
                    return Ok(Self { copy, place });
                }
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            thread::yield_now();
        }
        Err(io::Error::other("the document database never stood still for a copy"))
    }

    pub(super) fn put_back(&self, root: &Path) -> io::Result<()> {
        copy_all(self.copy.path(), &root.join(&self.place))
    }
}

fn listing(directory: &Path) -> io::Result<Vec<(PathBuf, u64, SystemTime)>> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path();
            match fs::metadata(&path) {
                Ok(about) if about.is_dir() => waiting.push(path),
                Ok(about) => found.push((path, about.len(), about.modified()?)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    found.sort();
    Ok(found)
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_all(&entry.path(), &target)?,
            false => copy_file(&entry.path(), &target)?,
        }
    }
    Ok(())
}

/// The database makes its files longer than what is in them. Holes stay holes, and once everything that
/// has a place on the disk was seen, the rest is one: reading on would be most of the work.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (File::open(from)?, File::create(to)?);
    let about = from.metadata()?;
    to.set_len(about.len())?;
    let may_have_holes = about.len() > SMALL_BYTES;
    let mut left = about.blocks() * BLOCK_BYTES;
    let mut page = [0; PAGE_BYTES];
    let mut position = 0;
    while position < about.len() && (left > 0 || !may_have_holes) {
        let read = from.read_at(&mut page, position)?;
        if read == 0 {
            break;
        }
        if page[..read] != ZEROS[..read] {
            to.write_all_at(&page[..read], position)?;
            left = left.saturating_sub(PAGE_BYTES as u64);
        }
        position += read as u64;
    }
    Ok(())
}
