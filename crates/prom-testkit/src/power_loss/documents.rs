//! Copies of the document database's real directory: the last durable one, and the current one.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::SystemTime;

use tempfile::TempDir;

/// The database writes in the background; a copy counts only if nothing changed meanwhile.
const TRIES: usize = 200;
const PAGE_BYTES: usize = 4096;
const ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];
/// The unit in which the operating system counts a file's allocated space.
const BLOCK_BYTES: u64 = 512;
/// Files up to this size may be stored in their metadata and report no allocated space.
const SMALL_BYTES: u64 = 64 << 10;

/// A copy of a directory, for restoring below another root.
#[derive(Debug)]
pub(super) struct Aside {
    copy: TempDir,
    /// Its path below the root.
    place: PathBuf,
}

/// Pages by file, below the directory, and their number in it.
pub(super) type LostPages = HashSet<(PathBuf, usize)>;

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
        Err(io::Error::other("the document database never stopped changing during a copy"))
    }

    /// The pages of the database's journal that an earlier copy did not have, or had otherwise. A sync of the database
    /// is one of its journal; it syncs its other files when it makes them.
    pub(super) fn changed_since(&self, earlier: Option<&Self>) -> io::Result<LostPages> {
        let mut changed = LostPages::new();
        let is_journal = |path: &Path| path.extension().is_some_and(|extension| extension == "jnl");
        for (path, ..) in listing(self.copy.path())?.into_iter().filter(|(path, ..)| is_journal(path)) {
            let name = path.strip_prefix(self.copy.path()).map_err(io::Error::other)?.to_path_buf();
            let now = contents(&path)?;
            let then = earlier.map(|earlier| contents(&earlier.copy.path().join(&name))).transpose();
            let then = then.ok().flatten().unwrap_or_default();
            let page = |bytes: &[u8], at: usize| bytes.chunks(PAGE_BYTES).nth(at).map(<[u8]>::to_vec);
            let pages = (0..now.len().div_ceil(PAGE_BYTES)).filter(|at| page(&now, *at) != page(&then, *at));
            changed.extend(pages.map(|at| (name.clone(), at)));
        }
        Ok(changed)
    }

    /// These pages never reached the disk.
    pub(super) fn lose(&self, lost: &LostPages) -> io::Result<()> {
        for (name, page) in lost {
            let path = self.copy.path().join(name);
            if let Ok(file) = File::options().write(true).open(path) {
                let (at, end) = ((page * PAGE_BYTES) as u64, file.metadata()?.len());
                let length = end.saturating_sub(at).min(PAGE_BYTES as u64) as usize;
                file.write_all_at(&ZEROS[..length], at)?;
            }
        }
        Ok(())
    }

    pub(super) fn put_back(&self, root: &Path) -> io::Result<()> {
        copy_all(self.copy.path(), &root.join(&self.place))
    }
}

/// Without the hole at its end.
fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    let allocated = file.metadata()?.blocks() * BLOCK_BYTES;
    file.take(allocated.max(SMALL_BYTES)).read_to_end(&mut bytes)?;
    Ok(bytes)
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
        if entry.file_type()?.is_dir() { copy_all(&entry.path(), &target)? } else { copy_file(&entry.path(), &target)? }
    }
    Ok(())
}

/// The database makes its files longer than their contents. Holes stay holes: once all allocated space was read, the
/// rest is one, and reading it would be most of the work.
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
