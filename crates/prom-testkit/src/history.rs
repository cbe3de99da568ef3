//! The judge of crash tests: compares what a killed process had been promised with what the store holds. For runs with
//! several clients and hubs, which cannot look into the store, see [`clients`].
//!
//! ```text
//!   child: writes a fact ─▶ history file ─▶ History ─┐
//!                                                    ├─▶ check ─▶ nothing, or the broken promises
//!   the store, opened again ─▶ StoreContents ────────┘
//! ```
//!
//! A child writes down what it is about to do (`Sent`, `Settling`), and after the answer what it was promised
//! (`Stored`, `Acked`, `Failed`). So at any moment of its death: what was promised must be there, what was never
//! begun must not.

mod check;
pub mod clients;
mod fact;
mod found;
mod read;
mod violation;

pub use check::{CrashSummary, check};
pub use fact::{Fact, History};
pub use found::{FoundEvent, StoreContents};
pub use read::{HistoryError, read_file};
pub use violation::Violation;

#[cfg(test)]
mod tests;
