//! A disk that misbehaves on demand, over any other disk.
//!
//! ```text
//!   store ─▶ FaultyDisk ─▶ the disk below
//!                │
//!   test ─▶ Faults: fail_syncs, fill_up, fail_reads, delay, heal; counts
//! ```
//!
//! Faults are switched while the store runs and apply from the next operation on. A write to a full disk leaves the part
//! that still fits, as a real disk does.

mod disk;
mod faults;

use std::io;
use std::path::Path;

use prom_store_embedded::{Create, Disk};

pub use disk::FaultyDisk;
pub use faults::{DiskCounts, FailsOn, FaultScope, Faults, Slow};

/// Flips one bit of a file, as failing hardware does, unnoticed by the store.
pub fn flip_bit(disk: &dyn Disk, path: &Path, position: u64, bit: u8) -> io::Result<()> {
    let file = disk.open(path, Create::Never)?;
    let mut byte = [0];
    if file.read_at(&mut byte, position)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    file.write_at(&[byte[0] ^ (1 << (bit % 8))], position)?;
    file.sync_data()
}

#[cfg(test)]
mod tests;
