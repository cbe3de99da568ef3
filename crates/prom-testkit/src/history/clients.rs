//! The judge of runs with several clients, hubs and servers: compares what the clients saw with what is promised.
//!
//! ```text
//!   clients, faults, cursors ─▶ Recorder ─▶ file, one line each ─▶ Observation ─▶ judge ─▶ a summary, or what is broken
//! ```
//!
//! The file alone decides. It holds when things were seen, by one clock of one machine, what each group was promised,
//! and what the log and the cursors held at the end. Every rule asks only for what a correct system can keep, as seen
//! from outside: an answer may be late, a frame may have been in transit while its sender was stopped, and a hub that
//! was stopped may not yet know that another one took over. What explains a second delivery is counted, so that a run
//! can show that it proves something.

mod broken;
mod explain;
mod flow;
mod index;
mod judge;
mod leases;
mod line;
mod log;
mod order;
mod recorder;
mod settled;

pub use broken::{Broken, Promise};
pub use explain::Explanation;
pub use flow::{FlowedAgain, flowed_again};
pub use judge::{ClientsSummary, judge};
pub use line::{Fault, GroupOrder, HistoryLine, Observation, SettleAnswer, SettleKind};
pub use recorder::Recorder;

#[cfg(test)]
mod tests;
