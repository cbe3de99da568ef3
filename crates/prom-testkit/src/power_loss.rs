//! A disk whose power can be cut: what was synced is there afterwards, the rest may be or not.
//!
//! Files live in memory. For each the model keeps the synced contents beside every page written
//! since; for each directory the synced names beside the live ones. [`PowerLossDisk::power_loss`]
//! gives the disk as the machine could find it after starting again:
//!
//! ```text
//!   unsynced page   old · new · a mixture by 512-byte sector
//!   unsynced length old · new · somewhere between
//!   unsynced name   added: missing or there · removed: gone or back
//! ```
//!
//! A synced file whose name was not synced (`sync_dir` of its directory, and of the directories
//! above it as far as they are new) may be missing whole.
//!
//! The document database does its own I/O in a real directory below [`PowerLossDisk::root`]; it is
//! copied aside whenever the store says that it is durable, and put back after the power loss.

mod contents;
mod disk;
mod documents;
mod names;
mod state;

pub use disk::PowerLossDisk;

/// How much of what was not synced is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survival {
    /// Nothing.
    Strict,
    /// All of it, as if the process had been killed and the machine gone on.
    Everything,
    /// Each piece by chance.
    Random(u64),
}

#[cfg(test)]
mod tests;
