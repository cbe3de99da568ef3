//! One process at a time on a directory: a lock of the operating system, gone with the process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use prom_store::StoreError;
use rustix::process::{Pid, test_kill_process};

use crate::disk::PRIVATE_FILE;
use crate::fault::io;

/// Held for as long as the store is open.
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    pub(crate) fn take(root: &Path) -> Result<Self, StoreError> {
        let path = root.join("LOCK");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.mode(PRIVATE_FILE).open(&path).map_err(io("opening", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut noted = String::new();
                file.read_to_string(&mut noted).map_err(io("reading", &path))?;
                return Err(StoreError::InUse { path: PathBuf::from(root), holder: holder(noted.trim()) });
            }
            Err(TryLockError::Error(error)) => return Err(io("locking", &path)(error)),
        }
        let mut note = || {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        note().map_err(io("writing", &path))?;
        Ok(Self { _file: file })
    }
}

/// The process that noted its id when it took the lock. Another one may hold it now, one that is no store: then the
/// note is of a process that has ended.
fn holder(noted: &str) -> String {
    let pid = noted.parse().ok().and_then(Pid::from_raw);
    let has_ended = |pid| test_kill_process(pid).is_err_and(|error| error == rustix::io::Errno::SRCH);
    match pid {
        Some(pid) if has_ended(pid) => {
            format!("another process, not {noted}, which had it last and has ended (`fuser LOCK` finds it)")
        }
        Some(_) => format!("process {noted}"),
        None => "another process (`fuser LOCK` finds it)".to_owned(),
    }
}
