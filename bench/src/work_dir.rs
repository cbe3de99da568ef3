//! The directory measured in, and what kind of file system it is on.

use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::TempDir;

use crate::args::Files;
use crate::bare::{Allocation, BareFile};

/// A temporary directory, removed when it is dropped unless `--keep` was given.
pub struct WorkDir {
    temporary: Option<TempDir>,
    path: PathBuf,
}

impl WorkDir {
    pub fn make(files: &Files) -> io::Result<Self> {
        let temporary = tempfile::Builder::new().prefix("prom-bench-").tempdir_in(&files.dir)?;
        let path = temporary.path().canonicalize()?;
        if files.keep {
            return Ok(Self { path: temporary.keep().canonicalize()?, temporary: None });
        }
        Ok(Self { temporary: Some(temporary), path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A new, empty directory in it.
    pub fn fresh(&self, name: &str) -> io::Result<PathBuf> {
        Ok(tempfile::Builder::new().prefix(name).tempdir_in(&self.path)?.keep())
    }

    /// Writes this many bytes and removes them again: on a thin disk a block's first write costs far more than the next,
    /// which would be charged to the first measurement.
    pub fn warm(&self, bytes: u64) -> io::Result<()> {
        eprintln!("  writing {} GB so that no figure pays for a first touch of the disk", bytes >> 30);
        let path = self.path.join("warm");
        drop(BareFile::make(&path, Allocation::PreZeroed { bytes })?);
        fs::remove_file(path)
    }

    /// One line: the processors, the file system's type, and a warning where a sync costs nothing because there is no
    /// disk.
    pub fn describe(&self) -> String {
        let kind = file_system(&self.path).unwrap_or_else(|| "an unknown file system".to_owned());
        let processors = std::thread::available_parallelism().map_or(1, |it| it.get());
        let warning = match kind.as_str() {
            "tmpfs" | "ramfs" => " (in memory: syncs mean nothing here, use --dir)",
            _ => "",
        };
        let kept = match self.temporary {
            Some(_) => String::new(),
            None => format!(", kept in {}", self.path.display()),
        };
        format!("{processors} processors, {kind}{warning}{kept}")
    }
}

/// The type of the mount with the longest path that leads to `path`.
fn file_system(path: &Path) -> Option<String> {
    let mounts = procfs::process::Process::myself().ok()?.mountinfo().ok()?;
    let above = mounts.0.into_iter().filter(|mount| path.starts_with(&mount.mount_point));
    above.max_by_key(|mount| mount.mount_point.as_os_str().len()).map(|mount| mount.fs_type)
}
