//! The database's own journal, written once more before it counts.
//!
//! A process that was killed between write and sync, or whose sync failed, may have left the end of that journal in the
//! system's cache only. It reads well from there, but no later sync brings it to the disk: the system takes it for
//! written. Batches behind such a hole would be lost with it, after our journal was freed on account of them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

const PART_BYTES: usize = 1 << 20;
const PAGE_BYTES: usize = 4096;
/// The unit in which the system counts the room that a file takes.
const BLOCK_BYTES: u64 = 512;

pub(crate) fn renew(dir: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jnl") {
            write_again(&OpenOptions::new().read(true).write(true).open(path)?)?;
        }
    }
    File::open(dir)?.sync_all()
}

/// The file is longer than its contents; the room behind them is a hole and stays one.
fn write_again(file: &File) -> io::Result<()> {
    let about = file.metadata()?;
    let end = about.len().min(about.blocks() * BLOCK_BYTES);
    let mut part = vec![0; PART_BYTES];
    let mut position = 0;
    while position < end {
        let read = file.read_at(&mut part, position)?;
        if read == 0 {
            break;
        }
        for (at, page) in (position..).step_by(PAGE_BYTES).zip(part[..read].chunks(PAGE_BYTES)) {
            if page.iter().any(|byte| *byte != 0) {
                file.write_all_at(page, at)?;
            }
        }
        position += read as u64;
    }
    file.sync_all()
}
