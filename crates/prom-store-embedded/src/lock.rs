//! One process at a time on a directory: a lock of the operating system, gone with the process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use prom_store::StoreError;

use crate::fault::io;

/// Held for as long as the store is open.
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    pub(crate) fn take(root: &Path) -> Result<Self, StoreError> {
        let path = root.join("LOCK");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io("opening", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                file.read_to_string(&mut holder).map_err(io("reading", &path))?;
                return Err(StoreError::InUse {
                    path: PathBuf::from(root),
                    holder: format!("process {}", holder.trim()),
                });
            }
            Err(TryLockError::Error(error)) => return Err(io("locking", &path)(error)),
        }
        let note = || {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        let mut note = note;
        note().map_err(io("writing", &path))?;
        Ok(Self { _file: file })
    }
}
