//! Committing: gather what waits, make one frame of it, sync once, answer all.
//!
//! ```text
//!   callers ──▶ queue ──▶ gather ─▶ build frame ─▶ synced write ─▶ apply to memory ─▶ answer
//!                 ▲                                     │
//!                 └──── the next ones gather meanwhile ─┘
//! ```
//!
//! Nothing is visible to readers, and no caller is answered, before the frame is durable. If the frame
//! fails, everything it would have changed is undone and every caller in it is told.
//!
//! The journal's thread does this. Where callers come one at a time and the disk is quick, the caller does it
//! itself: handing over to a thread and being woken by it costs nearly as much as the sync. With
//! [`crate::Drive::Inline`] there is no thread, and the caller always does.

mod build;
pub(crate) mod committer;
mod queue;
mod slot;
mod terms;
mod thread;

pub(crate) use committer::Committer;
pub(crate) use queue::{CommitBy, CommitQueue, CommitRequest, TakeOver};
pub(crate) use thread::{CommitThread, commit_if_free, commit_inline};
