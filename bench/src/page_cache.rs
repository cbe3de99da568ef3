//! The memory in which the operating system keeps files, so that one measurement does not pay for the writes of the
//! one before, and a reader can be made to meet a cold disk.

use std::fs::{self, DirEntry, File};
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
    let forget = |file: DirEntry| Ok(fadvise(File::open(file.path())?, 0, None, Advice::DontNeed)?);
    each_below(dir, &mut |file| if file.file_type()?.is_file() { forget(file) } else { Ok(()) })
}

/// How many bytes the files below `dir` hold.
pub fn bytes_below(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    each_below(dir, &mut |file| {
        bytes += file.metadata()?.len();
        Ok(())
    })?;
    Ok(bytes)
}

fn each_below(dir: &Path, look: &mut dyn FnMut(DirEntry) -> io::Result<()>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { each_below(&entry.path(), look)? } else { look(entry)? }
    }
    Ok(())
}
