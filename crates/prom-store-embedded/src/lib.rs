//! The embedded store: one journal is the truth, everything else is filled behind it.
//!
//! ```text
//!   <data>/FORMAT       version of the layout
//!         /LOCK         held by the process that has the directory open
//!         /journal/     pre-zeroed, recycled files: every durable change goes here first, with one synced write
//!         /segments/    events per log, written behind the journal; each folder has a NAME: its topic and partition
//!         /documents/   a fjall database: documents, cursors, what is known of each log; written at checkpoints
//! ```
//!
//! **Promises.** A commit that was answered survives kill -9 and, with [`Sync::Fsync`], power loss.
//! A commit is there whole or not at all. A torn tail of the journal is cut; damage anywhere else is
//! reported with file and position, and the rest stays readable. Opening reads the journal's tail, not
//! the logs. Memory does not grow with what is stored.
//!
//! **Who does what.** One thread owns the journal (`commit`), one works behind it (`background`); with
//! [`Drive::Inline`] the caller does both. Readers take memory where it reaches and files where not (`log`, `segment`).

mod background;
mod codec;
mod commit;
mod compact;
mod cursors;
mod disk;
mod documents;
mod fault;
mod format;
pub mod fsck;
mod journal;
mod lock;
mod log;
mod options;
mod parts;
mod recover;
mod segment;
mod shared;
mod store;

pub use disk::{BLOCK_BYTES, Create, Disk, DiskFile, RealDisk, WholeDisk};
pub use options::{Drive, EmbeddedOptions, Sizes, Sync};
pub use store::EmbeddedStore;
