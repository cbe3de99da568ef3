//! The journal: the one durable truth of a data directory.
//!
//! ```text
//!   journal/0.journal   journal/1.journal   …
//!   ┌────────┬───────┬───────┬───────┬ ─ ─ ─ ┐
//!   │ header │ frame │ frame │ frame │ zeros │     pre-zeroed, later recycled
//!   └────────┴───────┴───────┴───────┴ ─ ─ ─ ┘
//!    first     n       n+1     n+2
//! ```
//!
//! **Constraints.** One thread writes. A frame is what gathered while the last one was written: it is
//! written and made durable in one step ([`crate::DiskFile::write_blocks`]), and only then is the next
//! begun. So at any time at most one frame is not durable: a bad frame with nothing valid behind it is a torn tail and is cut;
//! a bad frame with a valid one behind it is damage and is reported.
//!
//! **Format.** A file begins with a header naming the sequence number of its first frame. Frames are
//! numbered without gaps across files. Recycled files keep old frames behind the new ones; their lower
//! numbers give them away. A file whose first number is not higher than frames in an older file
//! replaces those: that is how a frame whose sync failed is cut for good.
//!
//! **Recovery.** [`reader::read`] walks the frames after the checkpoint in order.

mod blocks;
pub(crate) mod entry;
pub(crate) mod file;
pub(crate) mod frame;
pub(crate) mod reader;
pub(crate) mod writer;

pub(crate) use entry::{CursorStep, Entry};
pub(crate) use writer::Journal;
