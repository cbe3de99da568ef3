//! The load generator under `prom bench` and `prom-bench`.
//!
//! ```text
//!   PublishJob ─ numbers ─▶ publishers ─▶ server ─▶ consumers, tails ─ payloads ─▶ ConsumeJob
//!        ▲                      │                                                     │
//!        └──── receipts ────────┘                                seen, timed, settled ┘
//! ```
//!
//! A job is what all connections of one measurement do together: a [`PublishJob`] hands out numbers and counts receipts,
//! a [`ConsumeJob`] checks what arrives against what was sent. How a connection does it depends on the server and its
//! client; [`client`] has it for `prom-client`.
//!
//! Promises: every payload carries its number and is compared byte for byte, so that every event is accounted for.
//! At a pace ([`pace`]) an event's time counts from the moment it was due, so a server that stalls is charged for the
//! events it delays. Nothing here costs a task, a timer or a lock per event.

mod consume_job;
mod failures;
mod latencies;
mod payload;
mod publish_job;
mod seen;

pub mod client;
pub mod figures;
pub mod pace;

pub use consume_job::{ConsumeJob, Consumed, Intake, Sharing, WrongEvent};
pub use failures::{LoadFailure, LoadFailures};
pub use latencies::{Latencies, LatencyStep, Percentiles};
pub use payload::{LARGEST_PAYLOAD, Payload, PayloadLabel, SMALLEST_PAYLOAD};
pub use publish_job::{PublishJob, Published};
