//! The file system as the store sees it, so that tests can put a faulty one or one that loses power
//! in its place.
//!
//! Promises asked of an implementation: what was written and then synced (`sync_data` for contents
//! and length, `sync_dir` for names) is there after a crash; nothing is promised about the rest.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Files and directories.
pub trait Disk: Send + Sync + 'static {
    /// Opens for reading and writing; makes an empty file where there is none if `create`.
    fn open(&self, path: &Path, create: Create) -> io::Result<Arc<dyn DiskFile>>;

    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the directory and its parents.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Names in a directory, in no order; empty where there is no such directory.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// Makes names added to and removed from a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Told when the document database below `dir`, which does its own I/O, has made everything
    /// written so far durable.
    fn documents_synced(&self, _dir: &Path) {}
}

/// Whether opening may make a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Create {
    Never,
    IfMissing,
}

/// An open file. Positions are explicit; there is no cursor.
#[allow(clippy::len_without_is_empty)] // A file's length is a size, not a number of elements.
pub trait DiskFile: Send + Sync {
    /// Fills `buffer` from `position` as far as the file reaches; returns how much that was.
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize>;

    /// Writes all of it.
    fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<()>;

    /// Makes contents and length durable. After an error nothing is known about unsynced contents.
    fn sync_data(&self) -> io::Result<()>;

    fn set_len(&self, length: u64) -> io::Result<()>;

    fn len(&self) -> io::Result<u64>;
}

/// The operating system's files.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, create: Create) -> io::Result<Arc<dyn DiskFile>> {
        let file =
            OpenOptions::new().read(true).write(true).create(create == Create::IfMissing).truncate(false).open(path)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read_at(&mut buffer[filled..], position + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, position)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}
