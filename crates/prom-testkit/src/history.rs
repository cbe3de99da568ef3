//! The judge of crash tests: what a killed process had been promised, against what is there. For runs with several
//! clients and hubs, where nobody sees into the store, see [`clients`].
//!
//! ```text
//!   child: writes a fact ─▶ history file ─▶ History ─┐
//!                                                    ├─▶ check ─▶ nothing, or what is broken
//!   the store, opened again ─▶ Found ────────────────┘
//! ```
//!
//! A child writes down what it is about to do before it does it (`Sent`, `Settling`) and what it
//! was promised after the answer (`Stored`, `Acked`, `Failed`). So for every moment of its death:
//! whatever was promised must be there, whatever was never begun must not.

mod check;
pub mod clients;
mod fact;
mod found;
mod violation;

pub use check::{Summary, check};
pub use fact::{Fact, History, HistoryError};
pub use found::{Found, FoundEvent};
pub use violation::Violation;

#[cfg(test)]
mod tests;
