//! Jobs over letters: replay and purge, step by step.
//!
//! ```text
//!   order ─▶ stored ─▶ step ─▶ step … ─▶ canary waits for its acks ─▶ step … ─▶ outcomes are counted ─▶ over
//!              ▲         │
//!              └─ pause, resume, cancel: written into the job, and seen by its next step
//! ```
//!
//! Promises: a step stores events, marks and the job's progress in one commit, so that a crash at any moment loses and doubles
//! nothing. A job goes on after a restart, at one hub at a time. It holds one step in memory.

mod control;
mod document;
mod events;
mod given;
mod outcome;
mod run;
mod step;
mod trial;

pub use self::document::{LetterJob, LetterJobState, LetterOrder, LetterWork};
pub(super) use self::run::{JobRunner, look_for_jobs};
pub use self::trial::{LetterTrial, TriedLetter};
