//! The directory measured in, and what kind of file system it is on.

use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::TempDir;

use crate::args::{Args, Leftovers};
use crate::bare::{BareFile, Ground};

/// A temporary directory that goes away with it unless it is to be kept.
pub struct Place {
    temporary: Option<TempDir>,
    path: PathBuf,
}

impl Place {
    pub fn make(args: &Args) -> io::Result<Self> {
        let temporary = tempfile::Builder::new().prefix("prom-bench-").tempdir_in(&args.dir)?;
        let path = temporary.path().canonicalize()?;
        Ok(match args.leftovers {
            Leftovers::Remove => Self { temporary: Some(temporary), path },
            Leftovers::Keep => Self { path: temporary.keep().canonicalize()?, temporary: None },
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes so many bytes and removes them again: on a thin disk a block's first write costs far
    /// more than the next, which would be charged to whoever is measured first.
    pub fn warm(&self, bytes: u64) -> io::Result<()> {
        let path = self.path.join("warm");
        drop(BareFile::make(&path, Ground::PreZeroed { bytes })?);
        fs::remove_file(path)
    }

    /// One line about what is measured: the file system's type, the processors, and a warning where
    /// a sync costs nothing because there is no disk.
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
