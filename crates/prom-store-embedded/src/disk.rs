//! The file system as the store sees it, so that tests can put a faulty one or one that loses power
//! in its place.
//!
//! Promises asked of an implementation: what was written and then synced (`sync_data` for contents
//! and length, `sync_dir` for names) is there after a crash; nothing is promised about the rest.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::documents;

/// What [`DiskFile::write_blocks`] writes is a number of these, at a multiple of it in file and memory.
pub const BLOCK_BYTES: usize = 4096;

/// Files and directories.
pub trait Disk: Send + Sync + 'static {
    /// Opens for reading and writing; makes an empty file where there is none if `create`.
    fn open(&self, path: &Path, create: Create) -> io::Result<Arc<dyn DiskFile>>;

    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the directory and its parents.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty directory. One that stays takes no room worth speaking of.
    fn remove_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Names in a directory, in no order; empty where there is no such directory.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// Makes names added to and removed from a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// For making everything on the file system of `dir` durable at once; `None` where it cannot do that, or
    /// cannot tell whether it worked. Errors since it was opened count, so it is opened before the first write.
    fn whole(&self, _dir: &Path) -> Option<Box<dyn WholeDisk>> {
        None
    }

    /// Makes everything durable that the document database below `dir` has written; it does its own I/O, and `sync` is
    /// its way to do that. After an error nothing is known about what it wrote since the last success.
    fn sync_documents(&self, _dir: &Path, sync: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        sync()
    }

    /// Writes what the database's own journal holds once more and makes it durable, while no process has it open.
    fn renew_documents(&self, dir: &Path) -> io::Result<()> {
        documents::renew(dir)
    }
}

/// A file system as a whole.
pub trait WholeDisk: Send + Sync {
    /// As [`DiskFile::sync_data`] of each file and [`Disk::sync_dir`] of each directory, at about the price of one.
    fn sync(&self) -> io::Result<()>;
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

    /// Writes whole blocks and makes them durable: as [`DiskFile::write_at`] and then
    /// [`DiskFile::sync_data`], but in one step where the file can do that. Contents that were written
    /// otherwise and not synced stay so. After an error nothing is known about these blocks.
    fn write_blocks(&self, blocks: &[u8], position: u64) -> io::Result<()> {
        self.write_at(blocks, position)?;
        self.sync_data()
    }

    fn set_len(&self, length: u64) -> io::Result<()>;

    fn len(&self) -> io::Result<u64>;
}

/// Files hold what events hold, so that only their owner may read them.
pub(crate) const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIR: u32 = 0o700;

/// Makes the directory and its parents, for their owner alone.
pub(crate) fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(path)
}

/// The operating system's files. What it makes is readable by their owner only; what is there keeps its mode.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, create: Create) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(create == Create::IfMissing).truncate(false);
        let file = options.mode(PRIVATE_FILE).open(path)?;
        Ok(Arc::new(RealFile { file, path: path.to_path_buf(), direct: OnceLock::new() }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        create_private_dir(path)
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

    #[cfg(target_os = "linux")]
    fn whole(&self, dir: &Path) -> Option<Box<dyn WholeDisk>> {
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        if syncfs_tells_errors(&release) { Some(Box::new(RealWhole(File::open(dir).ok()?))) } else { None }
    }
}

#[cfg(target_os = "linux")]
struct RealWhole(File);

#[cfg(target_os = "linux")]
impl WholeDisk for RealWhole {
    fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.0)?)
    }
}

/// Before Linux 5.8 `syncfs` succeeds although a write failed.
#[cfg(target_os = "linux")]
fn syncfs_tells_errors(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (5, 8),
        _ => false,
    }
}

struct RealFile {
    file: File,
    path: PathBuf,
    /// The same file for writes that pass by the system's cache; `None` where the file system has none such.
    direct: OnceLock<Option<File>>,
}

impl RealFile {
    fn direct(&self) -> Option<&File> {
        let flags = rustix::fs::OFlags::DIRECT | rustix::fs::OFlags::DSYNC;
        let flags = i32::try_from(flags.bits()).ok();
        let open = |flags| OpenOptions::new().write(true).custom_flags(flags).open(&self.path).ok();
        self.direct.get_or_init(|| flags.and_then(open)).as_ref()
    }
}

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], position + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, position)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn write_blocks(&self, blocks: &[u8], position: u64) -> io::Result<()> {
        match self.direct().map(|direct| direct.write_all_at(blocks, position)) {
            // Not so, says the file system, and has written nothing.
            Some(Err(error)) if error.kind() == io::ErrorKind::InvalidInput => {}
            Some(result) => return result,
            None => {}
        }
        self.write_at(blocks, position)?;
        self.sync_data()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn syncing_everything_at_once_is_trusted_only_where_it_tells_of_failed_writes() {
        for (release, trusted) in
            [("6.18.44-fc", true), ("5.8.0", true), ("5.7.19-generic", false), ("4.19.0", false), ("odd", false)]
        {
            assert_eq!(syncfs_tells_errors(release), trusted, "{release}");
        }
    }

    #[test]
    fn blocks_are_read_back_wherever_they_lie_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let file = RealDisk.open(&dir.path().join("blocks"), Create::IfMissing).unwrap();
        file.write_at(&vec![0; 4 * BLOCK_BYTES], 0).unwrap();
        file.sync_data().unwrap();
        let memory: Vec<u8> = (0..3 * BLOCK_BYTES).map(|at| at as u8).collect();
        let aligned = memory.as_ptr().align_offset(BLOCK_BYTES);
        for from in [aligned, aligned + 1] {
            let blocks = &memory[from..from + BLOCK_BYTES];
            file.write_blocks(blocks, BLOCK_BYTES as u64).unwrap();
            let mut read = vec![0; 3 * BLOCK_BYTES];
            assert_eq!(file.read_at(&mut read, 0).unwrap(), read.len());
            assert_eq!(&read[BLOCK_BYTES..2 * BLOCK_BYTES], blocks);
            assert!(read[..BLOCK_BYTES].iter().chain(&read[2 * BLOCK_BYTES..]).all(|byte| *byte == 0));
        }
    }
}
