//! The embedded store: one journal is the truth, everything else is filled behind it.

mod disk;

pub use disk::{Create, Disk, DiskFile, RealDisk};
