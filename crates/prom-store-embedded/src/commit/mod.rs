//! Committing: one thread gathers what waits, makes one frame of it, syncs once, answers all.
//!
//! ```text
//!   callers ──▶ queue ──▶ gather ─▶ build frame ─▶ synced write ─▶ apply to memory ─▶ answer
//!                 ▲                                     │
//!                 └──── the next ones gather meanwhile ─┘
//! ```
//!
//! Nothing is visible to readers, and nobody is answered, before the frame is durable. If the frame
//! fails, everything it would have changed is undone and everybody in it is told.

mod build;
mod queue;
mod slot;
pub(crate) mod thread;

pub(crate) use queue::{Queue, Request, TakeOver};
