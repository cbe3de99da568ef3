//! The judge of runs with several clients, hubs and servers: what the clients saw, held against what is promised.
//!
//! ```text
//!   clients, faults, cursors ─▶ Recorder ─▶ file, one line each ─▶ Seen ─▶ judge ─▶ a summary, or what is broken
//! ```
//!
//! The file alone decides: it holds when things were seen, by one clock of one machine, which groups were promised
//! what, and what lay in the log and in the cursors at the end. Every rule asks only for what a correct system can
//! keep, as seen from outside: an answer may be late, a frame may have been on its way while its sender was stopped,
//! and a hub that was stopped may not know yet that another one took over. Whatever of that explains a second delivery
//! is counted, so that a run can be seen to prove something.

mod broken;
mod explain;
mod flow;
mod index;
mod judge;
mod leases;
mod line;
mod log;
mod order;
mod read;
mod recorder;
mod settled;

pub use broken::{Broken, Promise};
pub use explain::Explanation;
pub use flow::{FlowedAgain, flowed_again};
pub use judge::{Summary, judge};
pub use line::{Answer, Fault, GroupOrder, Line, Seen, Verdict};
pub use read::{ReadError, read, read_file};
pub use recorder::Recorder;

#[cfg(test)]
mod tests;
