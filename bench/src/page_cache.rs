//! The memory in which the operating system keeps files, so that one measurement does not pay for the writes of the
//! one before, and a reader can be made to meet a cold disk.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{Advice, fadvise, sync};

/// Writes out everything that any process has written.
pub fn write_out() {
    sync();
}

/// Drops the files below `dir` from memory. What is being written stays: [`write_out`] comes first.
pub fn forget(dir: &Path) -> io::Result<()> {
    write_out();
    forget_below(dir)
}

fn forget_below(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => forget_below(&entry.path())?,
            kind if kind.is_file() => fadvise(File::open(entry.path())?, 0, None, Advice::DontNeed)?,
            _ => {}
        }
    }
    Ok(())
}

/// How many bytes the files below `dir` hold.
pub fn bytes_below(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { bytes_below(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}
