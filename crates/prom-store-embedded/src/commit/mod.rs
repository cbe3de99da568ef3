//! Committing: somebody gathers what waits, makes one frame of it, syncs once, answers all.
//!
//! ```text
//!   callers ──▶ queue ──▶ gather ─▶ build frame ─▶ synced write ─▶ apply to memory ─▶ answer
//!                 ▲                                     │
//!                 └──── the next ones gather meanwhile ─┘
//! ```
//!
//! Nothing is visible to readers, and nobody is answered, before the frame is durable. If the frame
//! fails, everything it would have changed is undone and everybody in it is told.
//!
//! That somebody is the journal's thread. Where callers come one at a time and the disk is quick, it is the caller
//! itself: handing over to a thread and being woken by it costs nearly as much as the sync.

mod build;
pub(crate) mod committer;
mod queue;
mod slot;
mod thread;

pub(crate) use committer::Committer;
pub(crate) use queue::{Committing, Queue, Request, TakeOver};
pub(crate) use thread::{CommitThread, commit_alone};
