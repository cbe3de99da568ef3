//! A disk whose power can be cut: what was synced is there afterwards, the rest may or may not be.
//!
//! Files live in memory. For each file the model keeps the synced contents and every page written since; for each
//! directory the synced and the live names. [`PowerLossDisk::power_loss`] returns the disk as the machine could find it
//! after a restart:
//!
//! ```text
//!   unsynced page   old · new · a mixture by 512-byte sector
//!   unsynced length old · new · somewhere between
//!   unsynced name   added: missing or there · removed: gone or back
//! ```
//!
//! A synced file whose name was not synced (`sync_dir` of its directory, and of new directories above it) may be missing
//! entirely.
//!
//! The document database does its own I/O in a real directory below [`PowerLossDisk::root`]. It is copied whenever the
//! store says that it is durable, and restored after the power loss.

mod contents;
mod disk;
mod documents;
mod names;
mod state;

pub use disk::PowerLossDisk;

/// How much of the unsynced data is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survival {
    /// Nothing.
    Strict,
    /// All of it, as if the process had been killed and the machine kept running.
    Everything,
    /// Each piece by chance.
    Random(u64),
}

#[cfg(test)]
mod tests;
