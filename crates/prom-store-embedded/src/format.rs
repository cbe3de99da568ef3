//! The format of a data directory: a version that is checked before anything else is read.

use std::io::ErrorKind;
use std::path::Path;

use prom_store::StoreError;

use crate::disk::{Create, Disk};
use crate::fault::io;

const NAME: &str = "FORMAT";
const CURRENT: &str = "promethean embedded 1";
/// Longer than any version.
const MOST_BYTES: usize = 256;

/// Writes the version into a new directory, or refuses one that this software cannot read.
pub(crate) fn check(disk: &dyn Disk, root: &Path) -> Result<(), StoreError> {
    let path = root.join(NAME);
    let found = read(disk, &path).map_err(io("reading", &path))?;
    match found.trim_matches(['\0', '\n', ' ']) {
        CURRENT => Ok(()),
        // It is written before anything else, so a crash while it was written left nothing behind.
        part if CURRENT.starts_with(part) && holds_nothing(disk, root)? => write(disk, root),
        "" => Err(StoreError::Incomplete { path, reason: "is missing or empty".to_owned() }),
        other => Err(StoreError::Format { path, found: format!("{other:?}"), supported: format!("{CURRENT:?}") }),
    }
}

/// Writes the version where there is none.
pub(crate) fn rebuild(disk: &dyn Disk, root: &Path) -> Result<bool, StoreError> {
    let path = root.join(NAME);
    let is_gone = read(disk, &path).map_err(io("reading", &path))?.trim().is_empty();
    if is_gone {
        write(disk, root)?;
    }
    Ok(is_gone)
}

fn holds_nothing(disk: &dyn Disk, root: &Path) -> Result<bool, StoreError> {
    for part in ["journal", "segments", "documents"] {
        let dir = root.join(part);
        if !disk.list(&dir).map_err(io("listing", &dir))?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What the file says; nothing where there is none.
fn read(disk: &dyn Disk, path: &Path) -> std::io::Result<String> {
    let file = match disk.open(path, Create::Never) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(error),
    };
    let mut bytes = [0; MOST_BYTES];
    let length = file.read_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

fn write(disk: &dyn Disk, root: &Path) -> Result<(), StoreError> {
    let path = root.join(NAME);
    let write = || {
        let file = disk.open(&path, Create::IfMissing)?;
        file.write_at(format!("{CURRENT}\n").as_bytes(), 0)?;
        file.sync_data()?;
        disk.sync_dir(root)
    };
    write().map_err(io("writing", &path))
}
