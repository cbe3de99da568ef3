//! A whole hub and its clients in one thread: connections through memory, tokio's paused time, a store without
//! threads. Nothing sleeps for real, so hours pass in milliseconds, and a seed repeats its run.
//!
//! The memory store is deterministic by itself. The embedded store is driven inline on a simulated disk; its document
//! database keeps threads of its own for upkeep, which no answer waits for, so its runs repeat as well.

mod day;
mod promises;
mod scene;
