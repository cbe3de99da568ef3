//! The contract suite: what every store promises, one function per promise.
//!
//! A backend provides a [`Harness`] and calls [`contract_tests!`](crate::contract_tests), which makes one test of
//! each. Time is a [`TestClock`]; nothing here sleeps. What a store may choose freely (how coarsely it counts bytes,
//! which of several failed preconditions it names) is not checked.

mod clock;
mod harness;
mod promises;
mod scene;

pub mod append;
pub mod close;
pub mod commit;
pub mod compact;
pub mod cursor;
pub mod dedupe;
pub mod document;
pub mod end;
pub mod expect;
pub mod find;
pub mod lease;
pub mod place;
pub mod read;
pub mod trim;
pub mod watch;

pub use clock::TestClock;
pub use harness::Harness;
pub use scene::{CheckResult, Unexpected};
