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

    /// Writes this many bytes and removes them again: on a thin disk a block's first write costs far more than the next,
    /// which would be charged to the first measurement.
    pub fn warm(&self, bytes: u64) -> io::Result<()> {
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
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    let mount = |line: &str| {
        let mut words = line.split(' ');
        let (_device, point, kind) = (words.next()?, words.next()?, words.next()?);
        path.starts_with(point).then(|| (point.len(), kind.to_owned()))
    };
    mounts.lines().filter_map(mount).max().map(|(_, kind)| kind)
}
